"""Compiling: what is counted, which clocks it stops, what people are told, and which kernels Python may call."""

import ast
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import extbnsl
from extbnsl.core import compiling
from extbnsl.kernels.compiler import borrowed, either, inner, njit
from extbnsl.machine.budgets import Deadline
from extbnsl.machine.workers import Patience
from extbnsl.proof.context import COMPILING, Stages
from extbnsl.run.progress import Table, compiling_told


@pytest.fixture
def slow():
    """A way to spend some hundredths of a second on compiling."""

    def compile_for(seconds):
        compiling.began()
        compiling.began()  # what it needs
        time.sleep(seconds)
        compiling.ended()
        compiling.ended()

    return compile_for


def test_clocks_stand_still_while_kernels_are_compiled(slow):
    deadline, patience = Deadline.after(0.2), Patience(lambda: "time_limit", 0.2)
    assert not patience.over()
    before, clock = compiling.so_far(), compiling.clock()
    slow(0.25)
    after = compiling.so_far()
    assert after.done - before.done == 2
    assert 0.25 <= after.seconds - before.seconds < 5
    assert compiling.clock() - clock < 0.2
    assert not deadline.passed()
    assert not patience.over()
    time.sleep(0.2)
    assert deadline.passed()
    assert patience.over()


def test_the_clock_stands_still_in_the_middle_of_it_too():
    compiling.began()
    clock, seconds = compiling.clock(), compiling.so_far().seconds
    time.sleep(0.02)
    assert compiling.clock() == clock
    assert compiling.so_far().seconds >= seconds + 0.02
    compiling.ended()
    assert clock <= compiling.clock() < clock + 0.02


def test_stages_do_not_have_what_compiling_took(slow):
    seen, seconds = [], {}
    with Stages(seen.append, seconds).stage("bounds") as summary:
        slow(0.1)
        summary.append("done")
    assert seconds[COMPILING]["seconds"] >= 0.1 > seconds["bounds"]["seconds"]
    assert seconds["bounds"]["cpu_seconds"] >= 0.0
    assert [(event.stage, event.summary) for event in seen[1:]] == [
        ("kernels", "compiled 2 functions, first run only"),
        ("bounds", "done"),
    ]


def test_people_are_told_how_far_it_is():
    assert compiling_told() is None
    lines = []
    now = [0.0]
    table = Table(lines.append, lambda: now[0])
    compiling.began()
    done, known = compiling.so_far().done, compiling.so_far().known
    now[0] = 6.0
    table.beat()
    compiling.ended()
    now[0] = 12.0
    table.beat()
    told = f"code: compiling function {done + 1} of at most {known} (first run only)"
    assert told in " ".join(lines[0].split())
    assert lines[1].startswith("starting (memory ")


def test_threads_that_compile_one_after_the_other_are_added_up(slow):
    before = compiling.so_far().done
    threads = [threading.Thread(target=slow, args=(0.01,)) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    assert compiling.so_far().done - before == 6
    assert compiling.so_far().since is None


def test_a_kernel_and_what_it_needs_are_counted_once():
    known = compiling.so_far().known

    @inner
    def half(x):
        return x / 2

    @njit
    def mean(values):
        return half(values[0] + values[1])

    half.py_func.__module__ = mean.py_func.__module__ = "extbnsl.of_a_test"
    before = compiling.so_far()
    assert before.known - known == 2
    assert mean(np.array([1.0, 2.0])) == 1.5
    assert compiling.so_far().done - before.done == 2
    assert compiling.so_far().cpu_seconds > before.cpu_seconds
    assert mean(np.array([1.0, 4.0])) == 2.5
    assert compiling.so_far().done - before.done == 2
    with pytest.raises(TypeError, match="half is for kernels"):
        half(1.0)


def _plain(values, weights):
    return values.sum()


def _weighted(values, weights):
    return (values * weights[0]).sum() + weights[1]


_total = either(_plain, _weighted)


@njit
def total(values, weights):
    return _total(values, weights)


def test_a_step_is_one_of_two_by_its_last_argument():
    values = np.arange(4.0)
    assert total(values, None) == 6.0
    assert total(values, (values, 0.5)) == 14.5
    with pytest.raises(TypeError, match="_weighted is for kernels"):
        _total(values, None)


class Given(NamedTuple):
    """Arrays as kernels get them: one, and a tuple of some."""

    factors: np.ndarray
    terms: tuple[np.ndarray, Any]


@njit
def add_products(given, step, out):
    given, step, out = borrowed((given, step, out))
    for i in range(out.size):
        a, (b, _) = given.factors, given.terms
        own = out[i:]
        own[0] = a[i] * b[0, i] + step


@pytest.mark.parametrize("order", ["C", "F"])
def test_borrowed_arrays_are_read_and_written_and_stay_their_callers(order):
    given = Given(np.arange(5.0), (np.asarray(np.arange(10).reshape(2, 5), order=order), np.zeros(1)))
    out = np.zeros(5)
    owners = [given.factors, *given.terms, out]
    before = [sys.getrefcount(own) for own in owners]
    for _ in range(100):
        add_products(given, 3, out)
    assert out.tolist() == [k * k + 3 for k in range(5)]
    assert [sys.getrefcount(own) for own in owners] == before
    gone = [weakref.ref(own) for own in owners]
    del given, out, owners
    assert [own() for own in gone] == [None] * 4


def test_kernels_that_borrow_have_no_comprehension_and_are_not_spliced():
    """The compiler would drop what they write to what they do not read again, or free what their caller made."""
    inlined, borrowing = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda), 0
    for path in sorted(Path(extbnsl.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            inside = list(ast.walk(node)) if isinstance(node, ast.FunctionDef) else []
            if any(isinstance(one, ast.Call) and getattr(one.func, "id", "") == "borrowed" for one in inside):
                borrowing += 1
                assert not any(isinstance(one, inlined) for one in inside), f"{path}: {node.name}"
                assert "spliced" not in map(ast.unparse, node.decorator_list), f"{path}: {node.name}"
    assert borrowing > 20


def borrowed_names(function):
    """What a kernel borrows, and all names that it gives to what it takes out of that."""
    names = set()
    for node in ast.walk(function):  # in the order of the lines, on each level
        for target, value in assigned(node):
            called = isinstance(value, ast.Call) and getattr(value.func, "id", None) == "borrowed"
            if called or root_of(value) in names:
                names |= {own.id for own in ast.walk(target) if isinstance(own, ast.Name)}
    return names


def assigned(node):
    """What a statement assigns, each with its value."""
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
        both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        yield from zip(target.elts, value.elts, strict=True) if both else [(target, value)]


def root_of(value):
    """The name of which a value is a part: an array or a slice, not an element."""
    while isinstance(value, ast.Attribute) or (isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)):
        if isinstance(value, ast.Attribute) and value.attr in ("size", "shape"):
            return None
        value = value.value
    return value.id if isinstance(value, ast.Name) else None


def returned_loans(source):
    """Each kernel that returns something that it has borrowed, and what."""
    for function in ast.parse(source).body:
        if isinstance(function, ast.FunctionDef):
            names = borrowed_names(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Return):
                    parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                    yield from ((function.name, root_of(part)) for part in parts if root_of(part) in names)


def test_no_kernel_returns_what_it_has_borrowed():
    files = [path.read_text() for path in Path(extbnsl.__file__).parent.rglob("*.py")]
    files = [text for text in files if "= borrowed(" in text]
    assert len(files) > 20
    assert [loan for text in files for loan in returned_loans(text)] == []


@pytest.mark.parametrize("returned", ["a", "b.c", "a[1:]", "1, b.c[:2]", "d", "d[2:]", "g"])
def test_a_returned_loan_is_seen(returned):
    source = f"def f(a, b):\n    a, b = borrowed((a, b))\n    d, (g, _) = b.d, b.g\n    return {returned}\n"
    assert [function for function, _ in returned_loans(source)] == ["f"]


@pytest.mark.parametrize("returned", ["a[0]", "a.size", "b.c[1] == 0", "e", "a[1:].copy()"])
def test_what_is_no_loan_is_returned(returned):
    source = f"def f(a, b):\n    a, b = borrowed((a, b))\n    e = a.copy()\n    return {returned}\n"
    assert list(returned_loans(source)) == []
