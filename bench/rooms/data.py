"""Reading data: no kernels, but what every run begins with."""

from bench import inputs
from bench.work import Benchmark, Work
from extbnsl.core.data_options import DataOptions
from extbnsl.data import Reading, distinct_rows, prepare
from extbnsl.data.given import given
from extbnsl.data.table import parse
from extbnsl.data.text import Lines


def _parse(tiny: bool) -> Work:
    dataset = inputs.dataset(*((5, 50) if tiny else (40, 20_000)), states=3)
    lines = [",".join(dataset.names), *(",".join(map(str, row)) for row in dataset.codes.tolist())]
    text = "\n".join(lines).encode()
    return Work(parse, [([text], ",", Lines("generated"), Reading())], dataset.codes.size)


def _array(tiny: bool) -> Work:
    dataset = inputs.dataset(*((5, 50) if tiny else (40, 20_000)), states=3)
    return Work(given(dataset.codes).made, [(prepare, DataOptions())], dataset.codes.size)


def _distinct(tiny: bool) -> Work:
    dataset = inputs.dataset(*((5, 50) if tiny else (40, 20_000)), states=3)
    return Work(distinct_rows, [(dataset.codes,)], dataset.codes.size)


BENCHMARKS = (
    Benchmark("data.table.parse", "cell", _parse),
    Benchmark("data.given.given", "cell", _array),
    Benchmark("data.dataset.distinct_rows", "cell", _distinct),
)
