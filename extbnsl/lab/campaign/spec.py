"""What a campaign's file says: pydantic models, whose JSON schema editors can use.

    title: Three methods on small data
    data: [../examples/asia.csv, {file: ../examples/wine.csv, options: {discretise: paper}}]
    methods: [bfbnb, {name: A*, options: {method: astar, lower-bound: static}}]
    budgets: [{time-limit: 1m, memory: 1GiB}]

Every data set is run by every method, with every variant, within every budget, by every seed, but for what `exclude`
says.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Options = Annotated[
    Mapping[str, Scalar | list[StrictInt | StrictFloat | StrictStr] | None],
    Field(description="Options of the command, without dashes: true for --NAME, false for --no-NAME, null for none."),
]
Name = Annotated[StrictStr, Field(min_length=1, max_length=80)]
Label = Annotated[Name, BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value)]
Names = Annotated[list[Label], BeforeValidator(lambda value: value if isinstance(value, list) else [value])]
Command = Literal["solve", "kbest", "posterior", "order", "approximate"]
Axis = Literal["data", "method", "variant", "budget", "seed"]
AXES: tuple[Axis, ...] = ("data", "method", "variant", "budget", "seed")


class Part(BaseModel):
    """What all parts of the file share: no key that is not known, and no change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSet(Part):
    """A data set. file: beside the campaign's file if it is not absolute; may have $NAME of the environment, as options
    may, and, where no name is given, * and ?. truth: a file of the network that the records were drawn from."""

    file: StrictStr
    name: Name | None = None
    options: Options = {}
    truth: StrictStr | None = None


class Method(Part):
    """A command with options, under a name."""

    name: Label
    command: Command = "solve"
    options: Options = {}


class Variant(Part):
    """Options that are tried with every method."""

    name: Label
    options: Options = {}


class Budget(Part):
    """What each run may use. kill-after: how many seconds beyond the time limit a run is killed that does not
    end."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    name: Label | None = None
    time_limit: StrictStr | StrictInt | StrictFloat | None = Field(None, alias="time-limit")
    memory: StrictStr | StrictInt | None = None
    disk: StrictStr | StrictInt | None = None
    kill_after: StrictInt | StrictFloat = Field(60, alias="kill-after", gt=0)


class Where(Part):
    """The runs that have one of these names on each axis; an axis that is not there matches all."""

    data: Names | None = None
    method: Names | None = None
    variant: Names | None = None
    budget: Names | None = None
    seed: Names | None = None


class Column(Part):
    """A column of a table: a figure of the runs that `where` has of the row, and what has been published beside it.

    figure: a name of `extbnsl.lab.campaign.figures`, or the way to a number in result.json, such as stats.parent_sets.
    first: of 'states', those of the first so many variables of the order alone. take: what of the figures of several
    runs. published: by the name of the row. each: an axis of whose names each has a column, with the name as its label
    unless there is a label, which comes before it then.
    """

    label: Label | None = None
    figure: StrictStr = "seconds"
    each: Axis | None = None
    first: Annotated[StrictInt, Field(ge=0)] | None = None
    where: Where = Where()
    take: Literal["median", "mean", "least", "most", "sum"] = "median"
    published: Mapping[Label, Scalar | None] = {}

    @model_validator(mode="after")
    def _has_label(self) -> Self:
        if self.label is None and self.each is None:
            raise PydanticCustomError("label", "Field required, unless there is 'each'")
        return self


class Table(Part):
    """A table: a row for each data set, or each name of another axis."""

    title: StrictStr
    rows: Axis = "data"
    where: Where = Where()
    columns: list[Column] = Field(min_length=1)
    note: StrictStr = ""


class Comparison(Part):
    """How much better one method is than another over all data sets, budgets and seeds: counts of differences of the
    cost, by how strong the evidence is, and a sign test."""

    title: StrictStr
    pairs: list[tuple[Label, Label]] = Field(min_length=1)
    axis: Axis = "method"
    note: StrictStr = ""


class Plot(Part):
    """A picture. kind: 'bars' (a figure of each data set), 'cactus' (how many runs are proved within so much of a
    figure), 'scaling' (a figure against the variables or the records), 'layers' (nodes or disk of each layer of every
    run). by: the axis whose names have a colour each."""

    title: StrictStr
    kind: Literal["bars", "cactus", "scaling", "layers"]
    figure: StrictStr = "seconds"
    against: Literal["variables", "records"] = "variables"
    by: Axis = "method"
    where: Where = Where()


def _of(key: str) -> BeforeValidator:
    """Lets a text stand for a mapping of one key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def _method(value: Any) -> Any:
    """Lets the name of a method stand for `solve` with it."""
    return {"name": value, "options": {"method": value}} if isinstance(value, str) else value


class Campaign(Part):
    """A campaign: every data set by every method, variant, budget and seed."""

    title: StrictStr
    source: StrictStr = Field("", description="What the published figures are from.")
    data: list[Annotated[DataSet, _of("file")]] = Field(min_length=1)
    methods: list[Annotated[Method, BeforeValidator(_method)]] = Field([Method(name="bfbnb")], min_length=1)
    variants: list[Variant] = Field([], description="Sets of options that are each tried.")
    budgets: list[Budget] = Field([Budget.model_validate({})], min_length=1)
    seeds: list[Annotated[StrictInt, Field(ge=0, lt=2**32)]] = []
    options: Options = {}
    exclude: list[Where] = []
    tables: list[Table] = []
    comparisons: list[Comparison] = []
    plots: list[Plot] = []
