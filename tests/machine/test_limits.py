"""Budgets: parsing, control groups of both versions, what the process reports of itself."""

import math
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from portions import first

from extbnsl.core.errors import InputError
from extbnsl.core.figures import format_size
from extbnsl.machine import budgets, system

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "asia.csv")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512MiB", 512 * 2**20),
        ("8GiB", 2**33),
        ("8 gib", 2**33),
        ("8G", 2**33),
        ("40GB", 40 * 10**9),
        ("1.5kB", 1500),
        ("2TiB", 2**41),
        ("1e9", 10**9),
        ("1", 1),
        ("17B", 17),
        (12345678901234567, 12345678901234567),
    ],
)
def test_sizes_are_bytes(text, size):
    assert budgets.parse_size(text, "memory") == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "8 GiBs", "0", "0.1", "nan", "inf", "1e400", "8,5GiB", "1E", True])
def test_a_bad_size_names_its_option(text):
    with pytest.raises(InputError, match=r"^--memory: "):
        budgets.parse_size(text, "--memory")


@pytest.mark.parametrize("text", ["0", "0B", "0 GiB", 0])
def test_no_disk_is_a_size_where_none_will_do(text, tmp_path):
    assert budgets.parse_size(text, "--disk", least=0) == 0
    assert budgets.Budgets(disk=0).granted(tmp_path).disk == 0
    assert budgets.Budgets(disk=0).granted(tmp_path, held=5).disk == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("0.5", 0.5),
        ("6h", 21600),
        ("1h30m", 5400),
        ("2d", 172800),
        ("5min", 300),
        (7, 7),
    ],
)
def test_durations_are_seconds(text, seconds):
    assert budgets.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-3", "1h30", "3 weeks", "0", "0s", "1e9", "nan", "1h-3m", True])
def test_a_bad_duration_names_its_option(text):
    with pytest.raises(InputError, match=r"^--time-limit: "):
        budgets.parse_duration(text, "--time-limit")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KiB"),
        (7.8 * 2**30, "7.8GiB"),
        (2**40, "1.0TiB"),
        (2000 * 2**40, "2000.0TiB"),
    ],
)
def test_sizes_for_people(size, text):
    assert format_size(size) == text


def group(folder: Path, **files: object) -> Path:
    """A control group's folder with `files`, in whose names '__' stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")
    return folder


def membership(folder: Path, text: str) -> Path:
    file = folder / "membership"
    file.write_text(text)
    return file


def test_memory_of_a_version_2_group_counts_cache_as_free(tmp_path):
    group(tmp_path / "job", memory__max=1_000_000, memory__current=600_000)
    group(
        tmp_path / "job",
        memory__stat="anon 100000\nactive_file 150000\ninactive_file 50000\nslab_reclaimable 8",
    )
    member = membership(tmp_path, "0::/job\n")
    assert budgets.default_memory(tmp_path, member) == 600_008 * 3 // 4


def test_the_tightest_group_above_binds(tmp_path):
    group(tmp_path / "slice", memory__max=500_000, memory__current=100_000)
    group(tmp_path / "slice" / "job", memory__max="max", memory__current=50_000)
    member = membership(tmp_path, "0::/slice/job\n")
    assert budgets.default_memory(tmp_path, member) == 300_000


def test_memory_of_a_version_1_group(tmp_path):
    files = {"memory__limit_in_bytes": 1_000_000, "memory__usage_in_bytes": 900_000}
    group(tmp_path / "memory" / "job", **files, memory__stat="active_file 7\ntotal_active_file 300000")
    member = membership(tmp_path, "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n")
    assert budgets.default_memory(tmp_path, member) == 300_000


def test_a_container_sees_its_group_at_the_root_of_the_mount(tmp_path):
    group(tmp_path, memory__max=400_000, memory__current=0)
    member = membership(tmp_path, "0::/docker/0123abcd\n")
    assert budgets.default_memory(tmp_path, member) == 300_000


def test_without_a_limit_the_machine_binds(tmp_path):
    group(tmp_path / "memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=5)
    unlimited = budgets.default_memory(tmp_path, membership(tmp_path, "4:memory:/\n"))
    nowhere = budgets.default_memory(tmp_path, tmp_path / "missing")
    assert 0 < unlimited < 2**50
    assert nowhere == pytest.approx(unlimited, rel=0.2)


@pytest.fixture
def eight_processors(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


@pytest.mark.usefixtures("eight_processors")
@pytest.mark.parametrize(("quota", "threads"), [("max 100000", 8), ("150000 100000", 2), ("1000 100000", 1)])
def test_threads_respect_a_version_2_quota(tmp_path, quota, threads):
    group(tmp_path / "job", cpu__max=quota)
    assert budgets.default_threads(tmp_path, membership(tmp_path, "0::/job\n")) == threads


@pytest.mark.usefixtures("eight_processors")
@pytest.mark.parametrize(("quota", "threads"), [(-1, 8), (250000, 3)])
def test_threads_respect_a_version_1_quota(tmp_path, quota, threads):
    group(tmp_path / "cpu,cpuacct" / "job", cpu__cfs_quota_us=quota, cpu__cfs_period_us=100000)
    assert budgets.default_threads(tmp_path, membership(tmp_path, "3:cpu,cpuacct:/job\n")) == threads


def test_threads_respect_affinity(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert budgets.default_threads(tmp_path, tmp_path / "missing") == 1


def test_deadline():
    assert budgets.Deadline.after(None).remaining() == math.inf
    assert not budgets.Deadline.after(None).passed()
    assert 50 < budgets.Deadline.after(60).remaining() <= 60
    past = budgets.Deadline.after(-1)
    assert past.passed()
    assert past.remaining() == 0


def test_peak_memory_sees_what_was_freed_and_nothing_of_the_parent():
    ballast = bytearray(120 * 2**20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    assert system.peak_rss() >= len(ballast)
    code = (
        "from extbnsl.machine import budgets, system\n"
        "before = system.peak_rss()\n"
        "b = bytearray(60 * 2**20); b[::4096] = b'x' * len(b[::4096]); del b\n"
        "print(before, system.peak_rss(), budgets.current_rss())"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    before, peak, current = map(int, output.split())
    del ballast
    assert before < 60 * 2**20
    assert peak >= 60 * 2**20
    assert current < 60 * 2**20


def test_cpu_seconds_grow():
    before = budgets.cpu_seconds()
    sum(range(300_000))
    assert budgets.cpu_seconds() > before


@pytest.mark.slow
@pytest.mark.parametrize("mebibytes", first(2, [100, 200, 320, 500, 899]))
def test_too_little_address_space_is_one_sentence_before_anything_is_loaded(tmp_path, mebibytes):
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

    solving = ["solve", EXAMPLE, "--run-dir", "r"]
    for command, code in ((solving, 20), (["verify", "r", EXAMPLE], 20), (["status", "r"], 30)):
        run = [sys.executable, "-m", "extbnsl", *command]
        ended = subprocess.run(run, cwd=tmp_path, preexec_fn=limited, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr.count("\n")) == (code, 1)
        assert ("ulimit -v" in ended.stderr) == (code == 20)
    assert not list(tmp_path.iterdir())
