"""What a solve returns: the network, the bounds, and how they came about."""

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from extbnsl.core.claims import OPTIMAL, Claim
from extbnsl.core.codec import json_text
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.core.figures import counted, format_cost
from extbnsl.core.knowledge import Knowledge
from extbnsl.core.version import __version__
from extbnsl.data import Data, Dataset, Numbers
from extbnsl.files.atomic import Content, encoded, write_atomically, write_failure
from extbnsl.files.names import ARC_FREQUENCIES, OUTPUTS, RESULT, is_of_some
from extbnsl.formats.bif_writer import bif_text
from extbnsl.formats.described import Described
from extbnsl.formats.dot import dot_text
from extbnsl.formats.kinds import WITH_PARAMETERS, WITH_STRENGTHS, check_choices, format_of
from extbnsl.networks.arcs import ArcStrength
from extbnsl.networks.network import Network, cpdag
from extbnsl.networks.parameters import fit
from extbnsl.results.facts import notebook_html
from extbnsl.results.outputs import described, files_beside, knowledge_told
from extbnsl.scores.local import LocalScores
from extbnsl.verify import FORMAT_VERSION, LOG_BASE, SIGN
from extbnsl.verify.certificate import Certificate

if TYPE_CHECKING:
    from extbnsl.networks.families import Reason
    from extbnsl.results.bootstrap import Bootstrap
    from extbnsl.results.posterior import Posterior
    from extbnsl.results.rounds import Rounds


def check_smoothing(data: Data | None, smoothing: float) -> None:
    """Raise InputError for a smoothing where there are data of other kinds than states."""
    if smoothing and isinstance(data, Numbers):
        raise InputError("smoothing is for tables of states, and these variables are continuous; leave it out.")


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of a solve. All costs are in nats, minimised.

    Attributes
    ----------
    status : str
        'optimal'; or why the solve ended before that was proved: 'time_limit', 'memory_limit', 'disk_limit',
        'interrupted', 'no_workers' or 'not_proved'; or 'heuristic', where the method came to its end and proves
        nothing over all networks.
    network : Network
        The best network that was found.
    cost : float
        What that network costs.
    lower_bound : float
        What every network costs at least.
    upper_bound : float
        What the best one costs at most.
    order : tuple of int
        The numbers of the variables, parents first.
    claim : Claim
        What is claimed of the network, if it is optimal: among which networks, by which score.
    seed : int
        The seed of the randomised steps.
    stats : dict
        Counts, times and peaks, see `docs/file-formats.md`.
    options : dict
        The options with which the solve ran.
    warnings : tuple of str
        Sentences for the user.
    local_scores : LocalScores or None
        Those of the families that can win; None where none were computed.
    digest : str
        The digest of the data or of the local scores.
    dataset : Dataset, Numbers or None
        The data; None if local scores were given.
    certificate : Certificate or None
        What proves the optimality again without a search; None if there is none.
    order_optimal : bool or None
        True if no network that keeps to `order` costs less; None if that is not known.
    bootstrap : Bootstrap or None
        What the networks of resamples say; None if none were asked for.
    posterior : Posterior or None
        What the data say of all networks; None if nobody asked, or there was no time.
    rounds : Rounds or None
        What the rounds of EM came to, where values were missing and it completed them. Then `cost` is by what is
        observed, nothing bounds what other networks cost, so that `lower_bound` is minus infinity, and `dataset` has
        the data as the network completes them.
    """

    status: str
    network: Network
    cost: float
    lower_bound: float
    upper_bound: float
    order: tuple[int, ...]
    claim: Claim
    seed: int
    stats: Mapping[str, Any]
    options: Mapping[str, Any]
    warnings: tuple[str, ...]
    local_scores: LocalScores | None
    digest: str
    dataset: Data | None
    certificate: Certificate | None = None
    order_optimal: bool | None = None
    bootstrap: "Bootstrap | None" = None
    posterior: "Posterior | None" = None
    rounds: "Rounds | None" = None

    def __repr__(self) -> str:
        arcs = counted(len(self.network.arcs()), "arc")
        bounds = "" if self.optimal or self.rounds else f", lower bound {format_cost(self.lower_bound, 6)}"
        return (
            f"<Result {self.status}: {counted(len(self.network.names), 'variable')}, {arcs}, "
            f"{self.score} cost {format_cost(self.cost, 6)} nats{bounds}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the claim and a drawing of the network, as HTML."""
        return notebook_html(self.document(), self.network)

    @property
    def score(self) -> str:
        """The name of the score."""
        return self.claim.score

    @property
    def max_parents(self) -> int | None:
        """The user's limit; None if there is none."""
        return self.claim.max_parents

    @property
    def ess(self) -> float | None:
        """The equivalent sample size of the score; None if it has none."""
        return self.claim.ess

    @property
    def knowledge(self) -> Knowledge:
        """Which networks are allowed, and what arcs cost besides."""
        return self.claim.knowledge

    @property
    def optimal(self) -> bool:
        """Whether the network is proved to be a best one."""
        return self.status == OPTIMAL

    @property
    def parents(self) -> dict[str, list[str]]:
        """The names of each variable's parents."""
        return self.network.parents_by_name()

    @property
    def _weight(self) -> float | None:
        """The sum of the weights of data that have some of their own; None of others, rows of EM among them."""
        own = self.dataset is not None and self.dataset.weights is not None and self.rounds is None
        return self.dataset.total if own and self.dataset is not None else None

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of the files that may tell the result."""
        of_some = () if self.bootstrap is None else (ARC_FREQUENCIES,)
        return (*OUTPUTS, *of_some, *(() if self.posterior is None else self.posterior.file_names))

    def save(self, folder: str | PathLike[str], overwrite: bool = False) -> None:
        """Write `result.json`, `network.dot`, `network.json` and, with data, `network.bif` into a folder.

        The k best networks have more files, and resamples a table.

        Parameters
        ----------
        folder : str or path-like
            The folder, which is made if need be.
        overwrite : bool, default False
            Replace files that are there. Such further files as an earlier result has left there go: those in the
            folder belong together.

        Raises
        ------
        InputError
            If one of the files is there already, unless `overwrite`, or the folder cannot be written.
        BudgetError
            If the disk is full.
        """
        path = Path(folder)
        taken = [name for name in self.file_names if (path / name).exists()]
        if taken and not overwrite:
            raise InputError(f"{path / taken[0]} exists already; save with overwrite=True to replace it.")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_failure(path, error) from error
        for name, content in self.files(self.document()):
            write_atomically(path / name, content)
        for left in path.iterdir():
            if is_of_some(left.name) and left.name not in self.file_names:
                left.unlink()

    def files(self, document: Mapping[str, Any]) -> Iterator[tuple[str, Content]]:
        """The files that tell the result with this document, as (name, content): result.json before those that are
        made of it again, for a run that was killed meanwhile."""
        if self.posterior is not None:
            yield from self.posterior.files()
        yield RESULT, encoded(f"{json_text(document, indent=1)}\n")
        yield from files_beside(document, self.network, self.dataset, self.claim)

    def document(self, made: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The content of `result.json`, as JSON values.

        Parameters
        ----------
        made : dict, optional
            What joins the provenance: the command and its data options.

        Returns
        -------
        dict
            Its keys are those of `docs/file-formats.md`.
        """
        names, data = self.network.names, self.dataset
        slices, targets = (None, None) if data is None else (data.slices, data.targets)
        errors = () if data is None else data.resolution
        return {
            "format_version": FORMAT_VERSION,
            "status": self.status,
            "cost": self.cost,
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            **self.claim.document(),
            "sign": SIGN,
            "log_base": LOG_BASE,
            **({} if slices is None else {"time_series": slices.document()}),
            "variables": list(names),
            "parents": self.network.parents_by_name(),
            "order": list(map(names.__getitem__, self.order)),
            "order_optimal": self.order_optimal,
            "certificate": None if self.certificate is None else self.certificate.to_document(),
            "stats": dict(self.stats),
            "warnings": list(self.warnings),
            "provenance": {
                "versions": {
                    "extbnsl": __version__,
                    "python": platform.python_version(),
                    "numpy": np.__version__,
                    "numba": numba.__version__,
                },
                "options": dict(self.options) | {"seed": self.seed},
                "data_digest": self.digest,
                "source": None if self.dataset is None else self.dataset.source,
                "records": None if self.dataset is None else self.dataset.observed,
                **({} if self._weight is None else {"weight": self._weight}),
                **(made or {}),
            },
            **({} if targets is None else {"targets": list(map(list, targets.names(names)))}),
            **({} if not errors else {"resolution": dict(zip(names, errors, strict=True))}),
            **({} if self.bootstrap is None else {"bootstrap": self.bootstrap.document()}),
            **({} if self.posterior is None else {"posterior": self.posterior.document()}),
            **({} if self.rounds is None else {"em": self.rounds.document()}),
        }

    def arc_strengths(self) -> tuple[ArcStrength, ...]:
        """How much each arc counts: by how many nats the cost rises without it, and with it turned.

        Returns
        -------
        tuple of ArcStrength
            The arcs in the order of `network.arcs()`; from the data, or else from the local scores as far as they list
            the families.

        Raises
        ------
        InputError
            If the result has neither data nor local scores.
        """
        strengths = self.described(parameters=False).strengths
        if strengths is None:
            raise InputError("arc_strengths needs data or local scores, and this result has neither.")
        return strengths

    def export(
        self,
        path: str | PathLike[str],
        format: str | None = None,
        smoothing: float = 0.0,
        cpdag: bool = False,
        overwrite: bool = False,
    ) -> None:
        """Write the network for another program, in a format of `extbnsl export`.

        Where the format cannot hold a name or a state, FILE.names.json tells the originals, or comments in BIF.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        format : str, optional
            The name of the format; None: as the file ends.
        smoothing : float, default 0.0
            The equivalent sample size of the prior of the parameters; 0 for maximum likelihood.
        cpdag : bool, default False
            Write the equivalence class in place of the network, in DOT.
        overwrite : bool, default False
            Replace files that are there.

        Raises
        ------
        InputError
            For what cannot be, or if a file is there already, unless `overwrite`.
        BudgetError
            If the disk is full.
        """
        from extbnsl.formats.export import written
        from extbnsl.results.exporting import check_free, write_export

        target = Path(path)
        kind = format_of(target, format)
        check_choices(kind, smoothing, cpdag)
        check_free(target, overwrite, "overwrite=True")
        described = self.described(kind in WITH_PARAMETERS, kind in WITH_STRENGTHS, smoothing)
        write_export(target, written(described, kind, cpdag), overwrite, "overwrite=True")

    def described(self, parameters: bool = True, strengths: bool = True, smoothing: float = 0.0) -> Described:
        """What there is to tell of the network.

        Parameters
        ----------
        parameters : bool, default True
            Tell the parameters, if there are data to fit them to.
        strengths : bool, default True
            Tell how much each arc counts, if there are data or local scores.
        smoothing : float, default 0.0
            The equivalent sample size of the prior of the parameters; 0 for maximum likelihood.

        Returns
        -------
        Described
            What the writers of all formats take.

        Raises
        ------
        InputError
            For a smoothing where the variables are continuous.
        """
        data = self.dataset
        check_smoothing(data, smoothing)
        problem = self.local_scores if data is None else data
        return described(self.network, self.cost, problem, self.claim, parameters, strengths, smoothing)

    def why(self, x: str, y: str | None = None) -> "list[Reason]":
        """Why the network has the arcs between two variables, or has them not, all else as it is.

        Parameters
        ----------
        x, y : str
            The names of the variables; without y, the arcs of x with all others.

        Returns
        -------
        list of Reason
            For each arc, into x first, whether it is `present`, its `gain` in likelihood, the `price` that the score
            charges, by how much the cost `rise`s with it, all in nats, and what has it `barred`.

        Raises
        ------
        InputError
            For names that there are not, or if the result has neither data nor local scores.
        """
        from extbnsl.networks.families import figures_from, reasons
        from extbnsl.results.querying import place_of

        problem = self.local_scores if self.dataset is None else self.dataset
        if problem is None:
            raise InputError("why needs data or local scores, and this result has neither.")
        names = self.network.names
        places = (place_of(names, x), None if y is None else place_of(names, y))
        return reasons(self.network, self.claim, figures_from(problem, self.claim), *places)

    def query(
        self,
        variables: Iterable[str] | None = None,
        given: Mapping[str, Any] | None = None,
        joint: bool = False,
        smoothing: float = 0.0,
        memory: int | None = None,
        average: bool = False,
    ) -> dict[Any, Any]:
        """What the network says of some variables, given values of others: exact, whatever is given and what is not.

        Parameters
        ----------
        variables : iterable of str, optional
            The names of those that are asked for; None for all that are not given.
        given : dict, optional
            States by the names of their variables, or numbers of continuous ones. A number that lies in an interval of
            a column that was cut has that state.
        joint : bool, default False
            Ask for all of them together.
        smoothing : float, default 0.0
            The equivalent sample size of the prior of the parameters; 0 for maximum likelihood.
        memory : int, optional
            How many bytes the answer may take; None for what is free.
        average : bool, default False
            Ask all networks that were drawn from the posterior, each with parameters of its own, in place of the best
            one; they count by how likely each makes what is given.

        Returns
        -------
        dict
            {variable: {state: probability}}, or if `joint` {(a state of each variable, in their order): probability}.
            Of continuous variables {variable: {"mean": m, "standard_deviation": s}}, or with "covariance": {variable:
            c} in place of the deviation.

        Raises
        ------
        InputError
            For names and states that there are not, values that are impossible together, a smoothing where the
            variables are continuous, or if there are no data, or to average no networks.
        BudgetError
            If the answer takes more memory.
        """
        from extbnsl.networks.models import fitting
        from extbnsl.results.querying import about, about_average
        from extbnsl.results.samples import counted_networks, no_samples

        data = self.dataset
        check_choices("bif", smoothing, False)
        if data is None:
            raise InputError("query needs data, and this network was learned from local scores alone.")
        check_smoothing(data, smoothing)
        try:
            known = fitting(data, self.claim.score, smoothing, memory)
            if not average:
                return about(known.model(self.network), variables, given or {}, joint)
            if self.posterior is None or not self.posterior.networks:
                raise no_samples("The result")
            drawn = counted_networks(self.posterior.names, self.posterior.networks)
            return about_average(known, drawn, variables, given or {}, joint)
        except ExtbnslError as error:
            error.tell_in_python()
            raise

    def to_networkx(self) -> Any:
        """The network as a graph of networkx.

        Returns
        -------
        networkx.DiGraph
            Its nodes are the names, with states and strengths as attributes.

        Raises
        ------
        InputError
            If networkx is not installed.
        """
        from extbnsl.formats.foreign_objects import networkx_graph

        return networkx_graph(self.described(parameters=False))

    def to_pgmpy(self, smoothing: float = 0.0) -> Any:
        """The network with its parameters as a model of pgmpy.

        Parameters
        ----------
        smoothing : float, default 0.0
            The equivalent sample size of the prior of the parameters; 0 for maximum likelihood.

        Returns
        -------
        pgmpy.models.DiscreteBayesianNetwork
            The model, whose nodes are the names.

        Raises
        ------
        InputError
            If pgmpy is not installed, there are no data, or the variables are continuous.
        """
        from extbnsl.formats.foreign_objects import pgmpy_model

        return pgmpy_model(self.described(strengths=False, smoothing=smoothing))

    def to_pyagrum(self, smoothing: float = 0.0) -> Any:
        """The network with its parameters as one of pyAgrum.

        Parameters
        ----------
        smoothing : float, default 0.0
            The equivalent sample size of the prior of the parameters; 0 for maximum likelihood.

        Returns
        -------
        pyagrum.BayesNet
            The network, whose variables have the names.

        Raises
        ------
        InputError
            If pyagrum is not installed, there are no data, or the variables are continuous.
        """
        from extbnsl.formats.foreign_objects import pyagrum_network

        return pyagrum_network(self.described(strengths=False, smoothing=smoothing))

    def to_bif(self) -> str:
        """The network with maximum-likelihood parameters in the BIF format.

        Returns
        -------
        str
            The text of the file.

        Raises
        ------
        InputError
            If the network was learned from local scores alone, or its variables are continuous.
        """
        if self.dataset is None:
            raise InputError("to_bif needs data, and this network was learned from local scores alone.")
        if not isinstance(self.dataset, Dataset):
            raise InputError("to_bif: BIF has no continuous variables; save() writes the regressions to network.json.")
        return bif_text(self.network, self.dataset.states, fit(self.network, self.dataset))

    def to_dot(self) -> str:
        """The network in Graphviz's format."""
        return dot_text(self.network, knowledge_told(self.network, self.dataset, self.knowledge))

    def cpdag(self) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
        """The equivalence class by names: those of its networks that the knowledge allows, and among which what was set
        from outside does not tell.

        Returns
        -------
        directed : tuple of (str, str)
            The arcs (parent, child) that all members of the class share.
        undirected : tuple of (str, str)
            The edges that may point either way.
        """
        names = self.network.names
        directed, undirected = cpdag(self.network, knowledge_told(self.network, self.dataset, self.knowledge))
        return tuple((names[a], names[b]) for a, b in directed), tuple((names[a], names[b]) for a, b in undirected)
