"""The estimator: it learns a network, and asks for answers about records what that has."""

import inspect
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import check_whole, plain
from extbnsl.core.data_options import NUMBERS, STATES, DataOptions, Texts
from extbnsl.core.errors import InputError
from extbnsl.core.keywords import described, keywords, without
from extbnsl.core.options import declared, made_of
from extbnsl.data import KINDS, Data
from extbnsl.data.column import clean_name
from extbnsl.data.given import Given
from extbnsl.data.treatment import declared_states
from extbnsl.machine.budgets import Budgets
from extbnsl.networks.network import Network
from extbnsl.posteriors.scope import MOST_SAMPLES, PosteriorScope
from extbnsl.python.api import BUDGETS, PLACE, QUESTION, SEED, TABLE, TELLING, learn, posterior
from extbnsl.python.estimator.answers import ANSWERS, Answers, Reader, RowAnswers, pandas_frame, records_of
from extbnsl.python.estimator.averages import AveragedAnswers
from extbnsl.python.estimator.failures import (
    NoPosteriorError,
    StatesOnlyError,
    UnusableError,
    not_fitted,
    of_states,
    told,
)
from extbnsl.python.estimator.interventions import TargetedAnswers
from extbnsl.python.estimator.series import SeriesAnswers
from extbnsl.results.samples import counted_networks
from extbnsl.scores.known import kind_of, model_of

if TYPE_CHECKING:
    from extbnsl.results.posterior import Posterior
    from extbnsl.results.result import Result


IN_TIME = ("time_column", "lags", "unit_column", "instant")
TREATING = {
    name: TABLE[name]
    for name in ("missing", "na", "discrete", "discretise", "states", "resolution", "targets", *IN_TIME)
}  # X
POSTERIOR = "posterior"  # the method
SUMMING = without(declared(PosteriorScope), "sample")  # for it
LEARNING = without(QUESTION, "score") | without(BUDGETS, "hands") | without(PLACE, "compress") | SEED


def _of_result(name: str) -> Any:
    """An attribute of the estimator that the result has by this name; an error before there is a result."""
    return property(lambda learner: getattr(learner._fitted(f"{name}_"), name))


@described(LEARNING, SUMMING, TREATING, TELLING)
class BayesianNetworkLearner:
    """Learns the Bayesian network of least cost, and says how likely records and states are by it.

    X is a data frame, or an array (N, n) of whole numbers or texts; measurements need `discretise`, or the
    `scoring_method` "gaussian-bic", by which all columns are numbers and the network is linear and Gaussian. All
    columns of X are variables. All methods raise UnusableError (an InputError and a ValueError) for what cannot be
    used, and NotFittedError before `fit`; `fit` also BudgetError if memory, disk or time ran out before there was a
    network, and the others if an answer takes more memory.

    New records may lack values (NaN, None, or texts that stand for none), and a data frame whole columns: the answers
    are given what is there, and what is missing is summed out, exactly; unless `missing` makes a state of it.

    With `targets` a column of X says which variables were set from outside, as for `learn`, and is none of them. New
    records may have it, or lack it: then nothing was set in them. What was set tells of what depends on it, but nothing
    of its parents, and `score_samples` takes it as given. `predict` of a variable that was set tells what it would be
    if it was not, and `sample` draws records in which nothing was set.

    With `time_column` X is a time series, as for `learn`. `predict` and `predict_proba` then tell of the time one step
    after each record, and `score_samples` of its own time given those before; NaN, or None, of records before which
    times are missing. `sample` raises UnusableError: a network of slices does not tell how a series begins.

    With `method="posterior"` and `networks`, all the networks that were drawn answer, each with parameters of its own:
    they count by how likely each makes what a record has. A record is as likely as they make it on average, and
    `sample` draws a network of them for each record.

    Parameters
    ----------
    scoring_method : str, default "mdl"
        The `score` of `learn`; `score` is a method here.
    method : str, default "bfbnb"
        As for `learn`; or "posterior", which sums over all networks, as the function `posterior` does.
    bootstrap : int, optional
        As for `learn`.
    networks : int, default 0
        How many networks the method "posterior" draws: its `sample`, which is a method here.
    smoothing : float, default 1.0
        The equivalent sample size of the prior of the parameters, 0 for the largest likelihood. Only what is asked of
        the network depends on it, and of a network of numbers nothing.
    target : str or int, optional
        The column that is predicted where a call names none.
    {options}

    Attributes
    ----------
    result_ : Result
        What `learn` returns, with the bounds. This and all that follows is there after `fit`.
    network_ : Network
        The network.
    parents_ : dict of list of str
        The names of each variable's parents.
    cost_ : float
        What the network costs, in nats.
    optimal_ : bool
        Whether the network is proved to be a best one.
    status_ : str
        The status of the result.
    causal_graph_ : networkx.DiGraph or dict
        A graph of the names; without networkx the same as `parents_`.
    adjacency_matrix_ : ndarray of int64, (n, n), or pandas.DataFrame
        1 for an arc from the row to the column; a data frame if X was one.
    posterior_ : Posterior
        What the data say of all networks. Only with `method="posterior"`, and where time and memory did for it.
    arc_probabilities_ : ndarray of float64, (n, n), or pandas.DataFrame
        The probability of an arc from the row to the column, as `posterior_` has it with its interval.
    states_ : dict of ndarray
        The values of each variable, by its name, in the order of `predict_proba`. A network of numbers has neither.
    n_features_in_ : int
        How many columns X had.
    feature_names_in_ : ndarray of object
        The names of the columns; only there if X was a data frame whose columns have names.
    """

    missing: str
    na: Texts | None
    targets: str | None
    states: str | PathLike[str] | Mapping[str, Any] | None

    @keywords(LEARNING, SUMMING, TREATING, TELLING)
    def __init__(
        self,
        *,
        scoring_method: str = "mdl",
        method: str = "bfbnb",
        bootstrap: int | None = None,
        networks: int = 0,
        smoothing: float = 1.0,
        target: Any = None,
        **options: Any,
    ) -> None:
        self.scoring_method = scoring_method
        self.method = method
        self.bootstrap = bootstrap
        self.networks = networks
        self.smoothing = smoothing
        self.target = target
        vars(self).update(options)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the network of the records in X.

        Parameters
        ----------
        X : data frame or ndarray
            The records.
        y : object, optional
            Ignored.

        Returns
        -------
        BayesianNetworkLearner
            The estimator itself.
        """
        with told():
            data = records_of(X)
            self._smoothing()
            self.result_, self._answers = self._learned(data)
        self.n_features_in_ = len(data.names)
        self._name_features(data)
        return self

    network_: Network = _of_result("network")
    parents_: dict[str, list[str]] = _of_result("parents")
    cost_: float = _of_result("cost")
    optimal_: bool = _of_result("optimal")
    status_: str = _of_result("status")

    @property
    def posterior_(self) -> "Posterior":
        found = self._fitted("posterior_").posterior
        if found is None:
            raise NoPosteriorError(
                f"posterior_: there are no sums over all networks; fit with method={POSTERIOR!r}, and enough time and "
                "memory."
            )
        return found

    @property
    def arc_probabilities_(self) -> Any:
        return self._of_arcs(self.posterior_.arcs)

    @property
    def states_(self) -> dict[str, NDArray[Any]]:
        self._fitted("states_")
        self._need_states("states_")
        return dict(self._of_rows.values)

    @property
    def causal_graph_(self) -> Any:
        result = self._fitted("causal_graph_")
        try:
            return result.to_networkx()
        except InputError:  # networkx is not there
            return result.parents

    @property
    def adjacency_matrix_(self) -> Any:
        network = self._fitted("adjacency_matrix_").network
        matrix = np.zeros((len(network.names),) * 2, np.int64)
        for parent, child in network.arcs():
            matrix[parent, child] = 1
        return self._of_arcs(matrix)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the records in X.

        Parameters
        ----------
        X : data frame or ndarray
            Records with the columns that `fit` had.
        y : object, optional
            Ignored.

        Returns
        -------
        float
            The mean of `score_samples`, in nats: larger is better.
        """
        each = self.score_samples(X)
        if not isinstance(self._answers, SeriesAnswers):
            return float(each.mean())
        known = each[~np.isnan(each)]
        if not known.size:
            raise UnusableError("X: no record has the steps before it that the network asks for: give a longer series.")
        return float(known.mean())

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood of each record in X, or of what is observed of it.

        Parameters
        ----------
        X : data frame or ndarray
            Records with the columns that `fit` had, or some of them.

        Returns
        -------
        ndarray of float64, (N,)
            In nats; with a smoothing of 0 it may be minus infinity. Of numbers it is the logarithm of a density, in
            the units of the data.
        """
        with told():
            return self._ask("score_samples").score_samples(X)

    @of_states
    def predict_proba(self, X: Any, target: Any = None) -> NDArray[np.float64]:
        """The probability of each state of a column given what X has of the others in each record.

        Exact: what is missing is summed out. A network of numbers has no such method.

        Parameters
        ----------
        X : data frame or ndarray
            Records with the columns that `fit` had, or some of them. What X has in the column `target` is not looked
            at.
        target : str or int, optional
            The name of the column, or its number in an array; None for the parameter `target`.

        Returns
        -------
        ndarray of float64, (N, states)
            The states are in the order of `states_`.
        """
        with told():
            answers = self._ask("predict_proba")
            position = self._position(target)
            if not answers.has_states(position):
                raise InputError(
                    f"predict_proba: {answers.network.names[position]!r} has numbers and no states; predict gives its "
                    "mean."
                )
            return answers.predict_proba(X, position)

    def predict(self, X: Any, target: Any = None) -> NDArray[Any]:
        """The most probable state of a column given what X has of the others in each record; of numbers, the mean.

        Exact, as `predict_proba`.

        Parameters
        ----------
        X : data frame or ndarray
            As for `predict_proba`.
        target : str or int, optional
            As for `predict_proba`.

        Returns
        -------
        ndarray, (N,)
            The states; of equally probable ones the first. The means are float64.
        """
        with told():
            answers = self._ask("predict")
            return answers.predict(X, self._position(target))

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Records drawn from the network.

        Parameters
        ----------
        n : int, default 1
            How many records.
        random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
            A seed, or what draws; None for other records in each call.

        Returns
        -------
        pandas.DataFrame or ndarray
            What X was. A column that was cut has the names of the intervals.
        """
        with told():
            answers = self._ask("sample")
            check_whole("n", plain(n), 1)
            return answers.sample(plain(n), _random(random_state))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the estimator.

        Parameters
        ----------
        deep : bool, default True
            Ignored: no parameter is an estimator.

        Returns
        -------
        dict
            The values by name.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator.

        Parameters
        ----------
        **params : object
            The values by name.

        Returns
        -------
        BayesianNetworkLearner
            The estimator itself.

        Raises
        ------
        UnusableError
            For a parameter that there is not.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise UnusableError(f"{name!r} is no parameter of {type(self).__name__}; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = inspect.signature(type(self)).parameters
        changed = ((name, value) for name, value in self.get_params().items() if value is not usual[name].default)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know: a set of records without a target, of categories or of numbers."""
        from sklearn.utils import InputTags, Tags, TargetTags

        categorical = kind_of(self.scoring_method) == STATES
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(categorical=categorical, string=True, allow_nan=self.missing != "refuse"),
        )

    def _learned(self, data: Given) -> tuple["Result", Answers]:
        """The best network of these records, and what answers for it."""
        options = {name: getattr(self, name) for name in TREATING}
        kind = kind_of(self.scoring_method)
        made = data.made(KINDS[kind].make, DataOptions(**options))
        result, columns = self._learn(made), data.names
        if self.targets is not None:
            data, options["targets"] = data.without(clean_name(self.targets)), None
        reader = self._reader(data, made)
        fitted = made
        if made.latent and result.dataset is not None:  # as the network completes it
            fitted = result.dataset
        of_rows = ANSWERS[model_of(kind, self.scoring_method)](result.network, fitted, data, options, reader)
        if result.posterior is not None and result.posterior.networks:
            drawn = counted_networks(result.posterior.names, result.posterior.networks)
            of_rows = AveragedAnswers(of_rows, drawn, fitted, self.scoring_method)
        answers: Answers = of_rows
        if self.targets is not None:
            answers = TargetedAnswers(result.network, reader, of_rows, columns, clean_name(self.targets))
        if made.slices is not None:
            in_time = DataOptions(**{name: options[name] for name in IN_TIME})
            answers = SeriesAnswers(result.network, reader, of_rows, in_time, made.given.start)
        return result, answers.with_limits(self._smoothing(), self._memory())

    def _of_arcs(self, matrix: NDArray[Any]) -> Any:
        """What is told of each arc, parent by child: a data frame if X was one."""
        if not self._of_rows.reader.framed:
            return matrix
        names = self.result_.network.names
        with told():
            return pandas_frame(matrix, names, names)

    def _reader(self, data: Given, made: Data) -> Reader:
        """How later records are read; of a time series rows of it, by the names of all slices."""
        states = declared_states(self.states)
        if made.slices is None:
            return Reader(data.keys, data.names, data.framed, self.missing, self.na, states, type(self).__name__)
        keys = dict(zip(data.names, data.keys, strict=True))
        own = tuple(keys.get(name, name) for name in made.names)
        present = made.names[: made.given.start] * (made.slices.lags + 1)
        lagged = {name: states[base] for name, base in zip(made.names, present, strict=True) if base in states}
        return Reader(own, made.names, data.framed, self.missing, self.na, lagged, type(self).__name__)

    def _learn(self, data: Data) -> "Result":
        options = {name: getattr(self, name) for name in (*LEARNING, *TELLING)}
        own = {"networks": self.networks} | {name: getattr(self, name) for name in SUMMING}
        if self.method == POSTERIOR:
            check_whole("networks", plain(own["networks"]), 0, MOST_SAMPLES)
            if self.bootstrap is not None:
                raise InputError(f"bootstrap: the method {POSTERIOR!r} has no use for it; leave it out.")
            if own["features"] is not None and not own["networks"]:
                raise InputError("features: they are read off networks that are drawn; say by networks how many.")
            return posterior(data, score=self.scoring_method, sample=own.pop("networks"), **options, **own)
        usual = inspect.signature(type(self)).parameters
        for name, value in own.items():
            if plain(value) != usual[name].default:
                raise InputError(f"{name}: it is for the method {POSTERIOR!r}; leave it out.")
        return learn(data, score=self.scoring_method, method=self.method, bootstrap=self.bootstrap, **options)

    def _fitted(self, wanted: str) -> "Result":
        """The result; an error unless there is one."""
        if not hasattr(self, "result_"):
            raise not_fitted(f"{type(self).__name__} has no {wanted} yet: call fit first.")
        return self.result_

    def _ask(self, wanted: str) -> Answers:
        """What answers, with the smoothing and the memory of now."""
        self._fitted(wanted)
        return self._answers.with_limits(self._smoothing(), self._memory())

    def _need_states(self, wanted: str) -> None:
        """Raise StatesOnlyError if the network is one of numbers, or would be."""
        answers = getattr(self, "_answers", None)
        if kind_of(self.scoring_method) == NUMBERS if answers is None else not self._of_rows.values:
            raise StatesOnlyError(
                f"{wanted}: the variables of a Gaussian network are numbers and have no states; predict gives the mean "
                "of a column."
            )

    @property
    def _of_rows(self) -> RowAnswers:
        """What answers, of a time series for rows."""
        own = self._answers
        if isinstance(own, SeriesAnswers | TargetedAnswers):
            return own.answers
        assert isinstance(own, RowAnswers), "there are no others"
        return own

    def _position(self, target: Any) -> int:
        """The place of the column that is called so, or as the parameter says."""
        wanted, reader = self.target if target is None else target, self._of_rows.reader
        if not isinstance(self._answers, SeriesAnswers | TargetedAnswers):
            return reader.position(wanted)
        number = plain(wanted)
        is_number = isinstance(number, int) and not reader.framed  # the column of time, or of targets, counts in X
        place = reader.position(f"X{number}" if is_number else wanted)
        if isinstance(self._answers, SeriesAnswers) and place >= self._answers.present:
            raise InputError(f"target: {reader.names[place]!r} is of the past; name a column of X.")
        return place

    def _name_features(self, data: Given) -> None:
        """Have `feature_names_in_`, if the columns have names."""
        if data.framed and all(isinstance(key, str) for key in data.keys):
            self.feature_names_in_ = np.array(data.keys, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _memory(self) -> int | None:
        return made_of(Budgets, {"memory": vars(self)["memory"]}).memory

    def _smoothing(self) -> float:
        size = plain(self.smoothing)
        if isinstance(size, bool) or not isinstance(size, int | float) or not 0.0 <= size < np.inf:
            raise InputError(f"smoothing: {self.smoothing!r} is not a number of at least 0.")
        return float(size)


def _random(state: Any) -> np.random.Generator:
    if isinstance(state, np.random.RandomState):  # as scikit-learn's tools give
        return np.random.default_rng(state.randint(1 << 31))
    try:
        return np.random.default_rng(state)
    except (TypeError, ValueError):
        raise InputError(f"random_state: {state!r} is neither None, a seed nor a numpy.random.Generator.") from None
