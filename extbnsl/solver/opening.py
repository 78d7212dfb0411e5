"""The opening of a run, the same for every question: what is asked is checked, its place is made or found again, and
what a checkpoint keeps is read."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from extbnsl.core.claims import NO_WORKERS, TIME_LIMIT, Claim
from extbnsl.core.errors import RunDirectoryError
from extbnsl.core.events import Begun, Observer, Warned
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Data
from extbnsl.files.arrays import StoredFile, load_compression
from extbnsl.files.manifest import SOLVE, RunState, Spent, believed, recover
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store, new_scratch, temporary_store
from extbnsl.kernels.compiler import cache_warning
from extbnsl.machine.budgets import Budgets, Deadline, Granted
from extbnsl.machine.workers import StopSignal, Workers
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.proof.commits import Checkpoints, Record
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods
from extbnsl.scores.known import kind_of, score_named
from extbnsl.scores.local import LocalScores
from extbnsl.solver.place import Place

if TYPE_CHECKING:
    from extbnsl.machine.hands import Hands

C = TypeVar("C", bound=Checkpoints[Any])


def knowledge_on(problem: Data | LocalScores, claim: Claim) -> Knowledge:
    """The knowledge of a claim by names of variables, with what the data and the score say themselves of networks."""
    own = claim.knowledge.over(problem.names)
    if not isinstance(problem, Data) or kind_of(claim.score) != problem.kind:
        return own
    if more := problem.knowledge:
        own.check()  # joining leaves out what is said twice
        own = own.joined(more)
    return score_named(claim.score).implied(own, problem)


@dataclass(frozen=True)
class Request:
    """What is asked of a run.

    problem: data, or local scores of any kind.
    claim, methods: among which networks, and how: options. From here on the claim names variables, and no patterns, and
    has what the data and the score say of networks themselves.
    budgets, place: within which, and where.
    scope: which networks or how many resamples, for the kinds that have one: options.
    kind: of manifest.KINDS, as the question says that is asked.
    """

    problem: Data | LocalScores
    claim: Claim = Claim()
    methods: Any = Methods()
    budgets: Budgets = Budgets()
    place: Place = Place()
    scope: Any = None
    kind: str = SOLVE

    def __post_init__(self) -> None:
        knowledge = knowledge_on(self.problem, self.claim)
        object.__setattr__(self, "claim", replace(self.claim, knowledge=knowledge))

    def check(self) -> None:
        """Raise InputError for values that cannot be, and RunDirectoryError for a state of another problem."""
        for value in (self.scope, self.claim, self.methods, self.budgets, self.place):
            if value is not None:
                value.check()
        if self.place.resume is not None:
            self.check_same(self.place.resume.state)

    def check_same(self, begun: RunState) -> None:
        """Raise RunDirectoryError unless this is what was asked of a run with this state, and of the same problem."""
        scope = {} if self.scope is None else self.scope.completed(begun.scope)
        _check_same(self.about, replace(begun, methods=self.methods.completed(begun.methods), scope=scope))

    @property
    def about(self) -> RunState:
        """What every manifest of the run says besides the standing; it takes the fingerprint of the problem."""
        methods, remember = self.methods.document(), self.place.remember
        scope = {} if self.scope is None else self.scope.document()
        return RunState(self.kind, self.problem.fingerprint, self.claim, methods, scope, remember)

    def options(self, granted: Granted) -> dict[str, Any]:
        """What a result says of the options."""
        scope = {} if self.scope is None else self.scope.document()
        return scope | self.claim.document() | self.methods.document() | granted.document()


def _check_same(about: RunState, begun: RunState) -> None:
    """Raise RunDirectoryError unless the state that is resumed is of the same problem."""
    if begun.digest != about.digest:
        raise RunDirectoryError("The data are not those that the run was begun with; restore them, or start a new run.")
    before, now = ({"kind": one.kind} | one.claim.document() | one.methods | one.scope for one in (begun, about))
    for name in before | now:
        if before.get(name) != now.get(name):
            raise RunDirectoryError(
                f"The run was begun with {name} = {before.get(name)}, not {now.get(name)}; "
                "resume it with the options that it was begun with, or start a new run."
            )


@dataclass(frozen=True)
class Opened(Generic[C]):
    """A run that has begun: what was asked, what is granted and till when, what its stages share, and its commits.

    stop: the caller's signal; the workers of the context have the time limit beside it.
    """

    asked: Request
    granted: Granted
    deadline: Deadline
    context: Context
    commits: C
    stop: StopSignal

    def workers(self, end: float, over: Callable[[], bool] = lambda: False) -> Workers:
        """Threads until the caller's signal, or the moment `end` of `compiling.clock`, or until it is `over`."""
        deadline = Deadline(end)
        return Workers(
            self.granted.threads,
            lambda: self.stop() or (TIME_LIMIT if deadline.passed() or over() else None),
            self.context.workers.hands,
        )


@contextlib.contextmanager
def opened(
    asked: Request,
    commits: type[C],
    methods: Methods = Methods(),
    *,
    observer: Observer,
    stop: StopSignal,
    kept: bool = True,
) -> Iterator[Opened[C]]:
    """A run that has begun, for as long as the block lasts. Nothing is committed yet; without `kept` nothing will be.

    commits: the kind of its commits. methods: what proofs that it needs go by. Its workers stop when `stop` says so,
    and at the time limit, which does not count what compiling takes. First the observer hears what the user should know
    of the problem, and if compiled code cannot be kept.

    Raises InputError for unusable arguments, RunDirectoryError for a state that is of another problem, or damaged.
    """
    asked.check()
    problem, place = asked.problem, asked.place
    granted = asked.budgets.granted(place.folder, place.held)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(store_at(place, granted))
        store.compress = place.compress
        if store.compress:
            load_compression()
        shelf = Shelf(granted.memory // 2, store)
        standing, record, spent = commits.start(), None, Spent()
        if place.run_folder is not None:
            files = tuple[StoredFile, ...]()
            if (manifest := place.resume) is not None:
                read = partial(commits.read, manifest, store.folder, shelf, problem.variables)
                standing = believed(place.run_folder, "state.standing", read)
                files, spent = manifest.files, manifest.state.spent
            record = Record(place.run_folder, asked.about, files, spent) if kept else None
        hands = stack.enter_context(_hands_of(asked.budgets.hands, granted, observer))
        stop = _or_without(hands, stop)
        deadline = granted.deadline()
        workers = Workers(granted.threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None), hands)
        stages = Stages(observer, spent.stages)
        context = Context(stack.enter_context(workers), stages, granted.memory, methods, store, shelf)
        made = commits(standing, context, record)
        observer(Begun())
        tell(problem, asked.claim, observer)
        yield Opened(asked, granted, deadline, context, made, stop)


@contextlib.contextmanager
def _hands_of(given: Any, granted: Granted, observer: Observer) -> Iterator["Hands | None"]:
    """The hands that the budgets name, for as long as the block lasts; InputError if there are none."""
    if given is None or hasattr(given, "slots"):  # they are hands already
        yield given
    else:
        from extbnsl.machine.dask_hands import hands_of

        with hands_of(given, granted, observer) as hands:
            yield hands


def _or_without(hands: "Hands | None", stop: StopSignal) -> StopSignal:
    """A stop signal that comes as well once it is in vain to wait for workers."""
    return stop if hands is None else lambda: stop() or (NO_WORKERS if hands.nobody else None)


def tell(problem: Data | LocalScores, claim: Claim, observer: Observer) -> None:
    """Tell the observer what the user should know of the problem, and if compiled code cannot be kept."""
    for message in (*warnings_of(problem, claim), *filter(None, [cache_warning()])):
        observer(Warned(message))


def warnings_of(problem: Data | LocalScores, claim: Claim) -> tuple[str, ...]:
    """What the user should know of the input."""
    if not isinstance(problem, Data):
        return ()
    return (*problem.warnings, *(() if problem.latent else source_of(problem, claim).warnings()))


@contextlib.contextmanager
def store_at(place: Place, granted: Granted) -> Iterator[Store]:
    """The store of the large files; RunDirectoryError if those of the state to go on from are not as they were."""
    if place.run_folder is None:
        with temporary_store(place.scratch_dir, granted.disk) as store:
            yield store
    elif place.resume is None:
        scratch = None if place.scratch_dir is None else new_scratch(place.scratch_dir, place.run_folder)
        yield Store(place.run_folder if scratch is None else scratch.folder, granted.disk, scratch=scratch)
    else:
        with Workers(granted.threads) as unstoppable:  # even without any time left there is to be a result
            store = recover(place.run_folder, place.resume, granted.disk, unstoppable)
        yield store
