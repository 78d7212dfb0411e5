"""`python -m bench`: how fast the kernels are, beside a reference loop and what is committed. See README.md."""

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.ratios import COMMITTED, FACTOR, read_ratios, save_ratios, slower
from bench.rooms import BENCHMARKS
from bench.timing import REPEATS, Timing, timed
from bench.work import Benchmark

AGAIN = 2  # times that what seems slower is measured again: other processes disturb
MISTAKEN = 2  # the exit code for a command that cannot be
WIDTH = max(len(benchmark.name) for benchmark in BENCHMARKS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, 1 if a kernel is slower than it was, or 2 for names and files that there are not."""
    given = _parser().parse_args(arguments)
    mistake = _mistake(given.names, given.ratios if given.compare else None)
    if mistake:
        print(f"bench: {mistake}", file=sys.stderr)
        return MISTAKEN
    chosen = [one for one in BENCHMARKS if not given.names or any(one in named(name) for name in given.names)]
    if given.list:
        print("\n".join(benchmark.name for benchmark in chosen))
        return 0
    known = read_ratios(given.ratios) if given.compare else {}
    print(f"{'kernel':{WIDTH}} {'unit':22} {'ns':>10} {'ratio':>10}" + f" {'was':>10} quotient" * given.compare)
    timings = measured(chosen, known)
    late = still_slower(chosen, timings, known, FACTOR)
    if given.save:
        save_ratios(ratios_of(timings), [benchmark.name for benchmark in BENCHMARKS], given.ratios)
    if late:
        print(f"\nMore than {FACTOR} times as slow as it was: {', '.join(late)}.")
    return int(bool(late))


def named(name: str) -> list[Benchmark]:
    """The benchmarks whose names begin so, or else those that have it in their names; none if there are none."""
    beginning = [benchmark for benchmark in BENCHMARKS if benchmark.name.startswith(name)]
    return beginning or [benchmark for benchmark in BENCHMARKS if name in benchmark.name]


def measured(chosen: Sequence[Benchmark], known: Mapping[str, float], repeats: int = REPEATS) -> dict[str, Timing]:
    """The timings of benchmarks, each the least of so many repeats, by their names; each is printed when there is one,
    beside the known ratio."""
    timings = dict[str, Timing]()
    for benchmark in chosen:
        timings[benchmark.name] = timed(benchmark.prepare(False), repeats)
        print(_row(benchmark, timings[benchmark.name], known.get(benchmark.name)), flush=True)
    return timings


def still_slower(
    chosen: Sequence[Benchmark], timings: dict[str, Timing], known: Mapping[str, float], factor: float
) -> list[str]:
    """The names of those that are slower than known, by this factor, even when they are measured again; `timings` gets
    what is better."""
    for _ in range(AGAIN):
        late = slower(ratios_of(timings), known, factor)
        if not late:
            break
        print("\nOnce more:", flush=True)
        for name, timing in measured([one for one in chosen if one.name in late], known).items():
            timings[name] = min(timings[name], timing, key=lambda one: one.ratio)
    return slower(ratios_of(timings), known, factor)


def ratios_of(timings: Mapping[str, Timing]) -> dict[str, float]:
    """The ratios of timings, by the same names."""
    return {name: timing.ratio for name, timing in timings.items()}


def _mistake(names: Sequence[str], compared: Path | None) -> str | None:
    """What is wrong with a command, as a sentence."""
    for name in names:
        if not named(name):
            near = difflib.get_close_matches(name, [benchmark.name for benchmark in BENCHMARKS], 1, 0.5)
            return f"no benchmark has {name!r} in its name; " + (f"did you mean {near[0]}?" if near else "see --list.")
    if compared is not None and not compared.exists():
        return f"there is no file {compared} to compare with; --save writes one."
    return None


def _row(benchmark: Benchmark, timing: Timing, known: float | None) -> str:
    row = f"{benchmark.name:{WIDTH}} {benchmark.unit:22} {_figure(timing.ns):>10} {_figure(timing.ratio):>10}"
    return row if known is None else f"{row} {_figure(known):>10} {timing.ratio / known:8.2f}"


def _figure(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure kernels beside a reference loop, on one thread."
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="only benchmarks whose names begin so, or have it in")
    parser.add_argument("--list", action="store_true", help="list the names and measure nothing")
    parser.add_argument("--save", action="store_true", help="write the ratios to a file; with NAME only these change")
    parser.add_argument("--compare", action="store_true", help="with what is there; exit code 1 if a kernel is slower")
    parser.add_argument(
        "--ratios", metavar="FILE", type=Path, default=COMMITTED, help="this file (default: bench/ratios.json)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
