"""What answers for many networks that were drawn from a posterior, each with parameters of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Data
from extbnsl.networks.models import Fitting, Model, OfNumbers, OfStates, Seen, averaged, fitting, log_mean_likelihoods
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import by_observed
from extbnsl.python.estimator.answers import Known, NumberAnswers, Reader, RowAnswers, finite


@dataclass(frozen=True, eq=False)
class AveragedAnswers(RowAnswers):
    """The answers of networks that were drawn: each weighs as often as it was drawn, and as it makes likely what is
    observed of a record.

    best: the answers of the best network, which reads records and writes them. networks: those that were drawn, with
    how often. data: what they are fitted to; score: by which they were drawn. smoothing, memory: as of `StateAnswers`.
    """

    best: RowAnswers
    networks: Mapping[Network, int]
    data: Data
    score: str
    smoothing: float = 0.0
    memory: int | None = None

    @property
    def network(self) -> Network:  # type: ignore[override]
        """The best one."""
        return self.best.network

    @property
    def reader(self) -> Reader:  # type: ignore[override]
        return self.best.reader

    @property
    def values(self) -> Mapping[str, NDArray[Any]]:  # type: ignore[override]
        return self.best.values

    def with_limits(self, smoothing: float, memory: int | None) -> Self:
        best = self.best.with_limits(smoothing, memory)
        return replace(self, best=best, smoothing=smoothing, memory=memory)

    @property
    def is_told_what_was_set(self) -> bool:
        return self.best.is_told_what_was_set

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of the mean of how likely the networks make what is observed of each record in X."""
        found = super().score_samples(X)
        return finite(found) if isinstance(self.best, NumberAnswers) else found

    def likelihoods(self, known: Known, lacking: NDArray[np.bool_], done: Sequence[int] = ()) -> NDArray[np.float64]:
        found = np.zeros(len(lacking))
        for observed, rows in by_observed(lacking):
            seen = known[rows].seen(observed)
            likely = partial(self._likely, seen, done) if done else self._fit.likelihoods(seen)
            found[rows] = log_mean_likelihoods(self.networks, likely, lambda number: None)
        return found

    def likelihoods_in_time(self, known: Known, lacking: NDArray[np.bool_], present: int) -> NDArray[np.float64]:
        return self.likelihoods(known, lacking)  # given the past

    def told(
        self, known: Known, lacking: NDArray[np.bool_], target: int, done: Sequence[int] = ()
    ) -> NDArray[np.float64]:
        states = self._fit.states[target]
        found = np.full((len(lacking), len(states)) if states else len(lacking), np.nan)
        for observed, rows in by_observed(lacking):
            models = ((self._model(network, done), count) for network, count in self.networks.items())
            answer = averaged(models, known[rows].seen(observed), [target], joint=False)
            if answer is not None:
                found[rows] = answer.states[target] if states else answer.means[:, 0]
        return found

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records, each drawn from a network that is drawn of these, as X was."""
        counts = np.fromiter(self.networks.values(), np.float64)
        many = random.multinomial(records, counts / counts.sum()).tolist()
        each = [
            self._model(network).drawn(number, random)
            for network, number in zip(self.networks, many, strict=True)
            if number
        ]
        codes, values = (np.concatenate(part) for part in zip(*each, strict=True))
        return self.returned(Known(codes, values)[random.permutation(records)])

    def read(self, X: Any, unseen: int | None = None) -> tuple[Known, NDArray[np.bool_]]:
        return self.best.read(X, unseen)

    @cached_property
    def _fit(self) -> Fitting:
        return fitting(self.data, self.score, self.smoothing, self.memory)

    def _likely(self, seen: Seen, done: Sequence[int], network: Network) -> NDArray[np.float64]:
        return self._model(network, done).log_densities(seen)

    def _model(self, network: Network, done: Sequence[int] = ()) -> Model:
        model = self._fit.model(network)
        if not done:
            return model
        assert isinstance(model, OfStates | OfNumbers), "others are not asked what was set"
        return model.where_set(done)
