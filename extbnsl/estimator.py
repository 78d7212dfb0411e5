"""The public face in scikit-learn's manner: an estimator that learns a network, and asks it about records.

Nothing of scikit-learn is needed: the estimator has what its tools look for.
"""

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.api import learn
from extbnsl.arguments import check_whole, plain
from extbnsl.data.advice import in_python
from extbnsl.data.alike import encoded_alike
from extbnsl.data.column import clean_name, listed
from extbnsl.data.dataset import Dataset
from extbnsl.data.given import PART, Given, as_they_were, given, kind_of
from extbnsl.data.treatment import Texts
from extbnsl.errors import ExtbnslError, InputError
from extbnsl.networks.likelihood import log_conditionals, log_likelihoods, sampled
from extbnsl.networks.network import Network
from extbnsl.scores.known import is_of_numbers

if TYPE_CHECKING:
    from extbnsl.events import Observer
    from extbnsl.results.result import Result


class UnusableError(InputError, ValueError):
    """An InputError that scikit-learn's tools know too."""


class NotYetFittedError(ExtbnslError, ValueError, AttributeError):
    """A network is asked for before there is one, where scikit-learn, which has a NotFittedError, is not installed."""


class BayesianNetworkLearner:
    """Learns the Bayesian network of least cost, and says how likely records and states are by it.

    X is a data frame, or an array (N, n) of whole numbers or texts; measurements need `discretise`. All columns of X
    are variables. All methods raise UnusableError (an InputError and a ValueError) for what cannot be used, and
    NotFittedError before `fit`; `fit` also BudgetError if memory, disk or time ran out before there was a network.

    Parameters
    ----------
    scoring_method : str, default "mdl"
        The `score` of `learn`; `score` is a method here.
    ess, max_parents, knowledge : as for `learn`
        What a network costs, and which networks there are to choose from.
    method, bootstrap : as for `learn`
        How the best network is found, and how many resamples are solved after the data.
    memory, disk, scratch_dir, threads, time_limit : as for `learn`
        How much of the machine `fit` may use, and for how long.
    seed : as for `learn`
        The seed of the randomised steps.
    missing, na, discrete, discretise : as for `learn`
        What to make of the columns of X.
    smoothing : float, default 1.0
        The equivalent sample size of the prior of the parameters, 0 for the largest likelihood. Only what is asked of
        the network depends on it.
    target : str or int, optional
        The column that is predicted where a call names none.
    progress : as for `learn`
        What is told while `fit` works.

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
    states_ : dict of ndarray
        The values of each variable, by its name, in the order of `predict_proba`.
    n_features_in_ : int
        How many columns X had.
    feature_names_in_ : ndarray of object
        The names of the columns; only there if X was a data frame whose columns have names.
    """

    def __init__(
        self,
        *,
        scoring_method: str = "mdl",
        ess: float | None = None,
        max_parents: int | None = None,
        knowledge: Any = None,
        method: str = "bfbnb",
        bootstrap: int | None = None,
        memory: int | str | None = None,
        disk: int | str | None = None,
        scratch_dir: str | PathLike[str] | None = None,
        threads: int | None = None,
        time_limit: float | str | None = None,
        seed: int = 0,
        missing: str = "refuse",
        na: Texts = None,
        discrete: Texts = None,
        discretise: Texts = None,
        smoothing: float = 1.0,
        target: Any = None,
        progress: "bool | Observer" = False,
    ) -> None:
        self.scoring_method = scoring_method
        self.ess = ess
        self.max_parents = max_parents
        self.knowledge = knowledge
        self.method = method
        self.bootstrap = bootstrap
        self.memory = memory
        self.disk = disk
        self.scratch_dir = scratch_dir
        self.threads = threads
        self.time_limit = time_limit
        self.seed = seed
        self.missing = missing
        self.na = na
        self.discrete = discrete
        self.discretise = discretise
        self.smoothing = smoothing
        self.target = target
        self.progress = progress

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
        with _told():
            data = given(X)
            self._smoothing()
            if is_of_numbers(self.scoring_method):
                raise InputError(
                    f"scoring_method: {self.scoring_method!r} is for columns of numbers, and this estimator answers by "
                    "tables of states; take extbnsl.learn, or another score with discretise."
                )
            dataset = data.dataset(missing=self.missing, na=self.na, discrete=self.discrete, discretise=self.discretise)
            raw = dataset if self.discretise is None else self._as_they_stand(next(data.parts()))
            self.result_: Result = learn(
                dataset,
                score=self.scoring_method,
                ess=self.ess,
                max_parents=self.max_parents,
                knowledge=self.knowledge,
                method=self.method,
                bootstrap=self.bootstrap,
                memory=self.memory,
                disk=self.disk,
                scratch_dir=self.scratch_dir,
                threads=self.threads,
                time_limit=self.time_limit,
                seed=self.seed,
                progress=self.progress,
            )
        self._dataset, self._raw, self._keys, self._framed = dataset, raw, data.keys, data.framed
        values = (as_they_were(*pair) for pair in zip(dataset.states, map(kind_of, data.series), strict=True))
        self.states_ = dict(zip(dataset.names, values, strict=True))
        self.n_features_in_ = len(dataset.names)
        self._name_features()
        return self

    @property
    def network_(self) -> Network:
        return self._fitted("network_").network

    @property
    def parents_(self) -> dict[str, list[str]]:
        return self._fitted("parents_").parents

    @property
    def cost_(self) -> float:
        return self._fitted("cost_").cost

    @property
    def optimal_(self) -> bool:
        return self._fitted("optimal_").optimal

    @property
    def status_(self) -> str:
        return self._fitted("status_").status

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
        if not self._framed:
            return matrix
        return _pandas_frame(matrix, network.names, network.names)

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
        return float(self.score_samples(X).mean())

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood of each record in X.

        Parameters
        ----------
        X : data frame or ndarray
            Records with the columns that `fit` had.

        Returns
        -------
        ndarray of float64, (N,)
            In nats; with a smoothing of 0 it may be minus infinity.
        """
        network, dataset = self._fitted("score_samples").network, self._dataset
        with _told():
            codes = self._codes(X)
            return log_likelihoods(network, dataset.arities, dataset.codes, codes, self._smoothing())

    def predict_proba(self, X: Any, target: Any = None) -> NDArray[np.float64]:
        """The probability of each state of a column given all others in each record of X.

        Exact: only the Markov blanket of the column matters.

        Parameters
        ----------
        X : data frame or ndarray
            Records with the columns that `fit` had. A data frame may lack the column `target`, and what X has there is
            not looked at.
        target : str or int, optional
            The name of the column, or its number in an array; None for the parameter `target`.

        Returns
        -------
        ndarray of float64, (N, states)
            The states are in the order of `states_`.
        """
        network, dataset = self._fitted("predict_proba").network, self._dataset
        with _told():
            at = self._position(target)
            codes = self._codes(X, at)
            each = log_conditionals(network, dataset.arities, dataset.codes, codes, at, self._smoothing())
            if np.isnan(each).any():
                record = int(np.isnan(each).any(axis=1).argmax()) + 1
                raise InputError(
                    f"X: record {record} is impossible by the network whatever {network.names[at]!r} is; give a "
                    "smoothing above 0."
                )
        return np.exp(each)

    def predict(self, X: Any, target: Any = None) -> NDArray[Any]:
        """The most probable state of a column given all others in each record of X.

        Parameters
        ----------
        X : data frame or ndarray
            As for `predict_proba`.
        target : str or int, optional
            As for `predict_proba`.

        Returns
        -------
        ndarray, (N,)
            The states; of equally probable ones the first.
        """
        chances = self.predict_proba(X, target)
        with _told():
            states: NDArray[Any] = self.states_[self._dataset.names[self._position(target)]]
        return states[chances.argmax(axis=1)]

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
        network, dataset = self._fitted("sample").network, self._dataset
        with _told():
            check_whole("n", plain(n), 1)
            random = _random(random_state)
            codes = sampled(network, dataset.arities, dataset.codes, plain(n), random, self._smoothing())
        columns = [self.states_[name][codes[:, j]] for j, name in enumerate(dataset.names)]
        if not self._framed:
            return np.column_stack(columns)
        frame = _pandas_frame(dict(enumerate(columns)))
        frame.columns = list(self._keys)
        return frame

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
        """What scikit-learn should know: a set of records without a target, of categories."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(categorical=True, string=True, allow_nan=self.missing != "refuse"),
        )

    def _fitted(self, wanted: str) -> "Result":
        """The result; an error, that of scikit-learn if it is installed, unless there is one."""
        if not hasattr(self, "result_"):
            sentence = f"{type(self).__name__} has no {wanted} yet: call fit first."
            try:
                from sklearn.exceptions import NotFittedError
            except ImportError:
                raise NotYetFittedError(sentence) from None
            raise NotFittedError(sentence)
        return self.result_

    def _name_features(self) -> None:
        """Have `feature_names_in_`, if the columns have names."""
        if self._framed and all(isinstance(key, str) for key in self._keys):
            self.feature_names_in_ = np.array(self._keys, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _as_they_stand(self, data: Given) -> Dataset:
        """The data set of records with nothing cut."""
        return data.dataset(missing=self.missing, na=self.na, discrete="all")

    def _codes(self, X: Any, unseen: int | None = None) -> NDArray[np.uint16]:
        """The codes of new records (N, n) in the states of the network; 0 in the column `unseen`."""
        names = self._dataset.names
        spare = None if unseen is None else names[unseen]
        data = given(X).in_order(names, type(self).__name__, spare)
        at = [j for j in range(len(names)) if j != unseen]
        codes = np.zeros((data.records, len(names)), np.uint16)
        if at:
            known, raw = (_columns_of(one, at, self._raw.records) for one in (self._dataset, self._raw))
            for start, part in zip(range(0, data.records, PART), data.parts(), strict=True):
                new = part.dataset(
                    missing="refuse" if self.missing == "drop" else self.missing, na=self.na, discrete="all"
                )
                codes[start : start + part.records, at] = encoded_alike(new, raw, known)
        return codes

    def _position(self, target: Any) -> int:
        """The place of the column that is called so."""
        names = self._dataset.names
        target = self.target if target is None else target
        if target is None:
            raise InputError("target: say which column to predict, as predict(X, target) or by the parameter target.")
        number = plain(target)
        if not self._framed and isinstance(number, int) and 0 <= number < len(names):
            return number
        if target in self._keys:
            return self._keys.index(target)
        if isinstance(target, str) and clean_name(target) in names:
            return names.index(clean_name(target))
        raise InputError(f"target: {target!r} is no column of the network; it has {listed(names)}.")

    def _smoothing(self) -> float:
        size = plain(self.smoothing)
        if isinstance(size, bool) or not isinstance(size, int | float) or not 0.0 <= size < np.inf:
            raise InputError(f"smoothing: {self.smoothing!r} is not a number of at least 0.")
        return float(size)


def _columns_of(dataset: Dataset, at: Sequence[int], records: int) -> Dataset:
    """The first records of a data set, in these of its columns."""
    return Dataset(
        tuple(dataset.names[j] for j in at),
        tuple(dataset.states[j] for j in at),
        np.ascontiguousarray(dataset.codes[:records, at]),
        dataset.source,
    )


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Let errors name arguments where they name options, and be errors of values too."""
    try:
        yield
    except InputError as error:
        raise UnusableError(in_python(str(error))) from error


def _random(state: Any) -> np.random.Generator:
    if isinstance(state, np.random.RandomState):  # as scikit-learn's tools give
        return np.random.default_rng(state.randint(1 << 31))
    try:
        return np.random.default_rng(state)
    except (TypeError, ValueError):
        raise InputError(f"random_state: {state!r} is neither None, a seed nor a numpy.random.Generator.") from None


def _pandas_frame(data: Any, index: Any = None, columns: Any = None) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise UnusableError("What is a data frame for a data frame needs pandas: pip install pandas.") from error
    return pandas.DataFrame(data, index=index, columns=columns)
