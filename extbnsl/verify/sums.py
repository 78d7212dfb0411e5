"""Sums over all networks, or all orders, by a program of its own: in logarithms, over whole tables of all sets.

A table has what each family costs, in nats, scored one by one by `rescoring`: (n, 2^n), by child and set of parents, a
number with a bit for each; infinity for a family that is not there.

    orders:    G(U) = sum over the last member i of U of G(U - i) alpha_i(U - i)
    networks:  H(U) = sum over nonempty S outside U of (-1)^(|S| + 1) prod over j in S of alpha_j(U) H(U + S)

where alpha_i(U) adds the weights exp(-cost) of the families of i that lie inside U; H(U) is the weight of all that can
be added to networks over U (Koivisto and Sood 2004, section 3; Tian and He 2009, section 3).
"""

import contextlib
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import VerificationError
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.data import Data
from extbnsl.machine.workers import Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.demands import Demands
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.rescoring import family_cost

UNIFORM, ORDER = "uniform", "order"  # priors
MOST_VARIABLES = 20
MOST_FAMILIES = 2_000_000  # some minutes
LOOKED_AT = 1 << 8  # families between two looks at the stop signal
TOGETHER = 1 << 16  # terms that are added at a time: the processor's cache holds them

Logs = NDArray[np.float64]


@dataclass(frozen=True)
class Summed:
    """The logarithm of the sum of all weights, and the probability of each family, as the table has them."""

    log_weight: float
    families: NDArray[np.float64]


def cost_table(
    problem: Data | LocalScores, claim: ClaimedResult, demands: Demands, workers: Workers, observer: Observer = ignore
) -> NDArray[np.float64]:
    """What all families cost that are as demanded. Raises Stopped, and TooMuch for more than MOST_VARIABLES or
    MOST_FAMILIES. Some ten microseconds for each family."""
    n = len(problem.names)
    if n > MOST_VARIABLES:
        raise TooMuch(f"it has more than {MOST_VARIABLES} variables")
    optional = [sorted(may - must) for may, must in zip(demands.may, demands.must, strict=True)]
    sizes = [
        range(min(most - len(must), len(own)) + 1)
        for most, must, own in zip(demands.most, demands.must, optional, strict=True)
    ]
    families = sum(math.comb(len(own), size) for own, some in zip(optional, sizes, strict=True) for size in some)
    if families > MOST_FAMILIES:
        raise TooMuch(f"it has more than {MOST_FAMILIES:,} families")
    table = np.full((n, 1 << n), np.inf)
    for child, size in ((x, size) for x in range(n) for size in sizes[x]):
        observer(StageAdvanced("verify", child, n, "variables", detail="scoring all parent sets"))
        for number, some in enumerate(itertools.combinations(optional[child], size)):
            if number % LOOKED_AT == 0:
                workers.check()
            own = tuple(sorted((*demands.must[child], *some)))
            with contextlib.suppress(VerificationError):  # scores do not list it
                table[child, sum(1 << p for p in own)] = family_cost(problem, child, own, claim)
    return table


def log_weight(table: NDArray[np.float64], prior: str, workers: Workers) -> float:
    """The logarithm of the sum over all networks, or by the prior 'order' over all orders. Raises Stopped. O(3^n) time,
    and n 2^n for orders; 16 n 2^n bytes."""
    alphas = _alphas(table, workers)
    return float(_before(alphas, workers)[-1] if prior == ORDER else _after(alphas, workers)[0])


def summed(table: NDArray[np.float64], prior: str, workers: Workers, observer: Observer = ignore) -> Summed:
    """The same, and the probability of each family; O(3^n) twice, and n^2 2^n for orders."""
    observer(StageAdvanced("verify", 0, 0, "", detail="summing over all networks"))
    alphas = _alphas(table, workers)
    return _over_orders(table, alphas, workers) if prior == ORDER else _over_networks(table, alphas, workers)


def _over_orders(table: Logs, alphas: Logs, workers: Workers) -> Summed:
    n, before = len(alphas), _before(alphas, workers)
    after = np.full(1 << n, -np.inf)
    after[-1] = 0.0
    for varsets in _by_size(n)[-2::-1]:
        workers.check()
        for i in range(n):
            own = varsets[varsets >> i & 1 == 0]
            after[own] = np.logaddexp(after[own], after[own | 1 << i] + alphas[i, own])
    families, total = np.empty_like(table), float(before[-1])
    for i in range(n):
        workers.check()
        through = np.full(1 << n, -np.inf)
        own = np.flatnonzero(np.arange(1 << n) >> i & 1 == 0)
        through[own] = before[own] + after[own | 1 << i] - total
        _add_supersets(through)
        families[i] = np.exp(through - table[i])
    return Summed(total, families)


def _before(alphas: Logs, workers: Workers) -> Logs:
    """The logarithm of G: (2^n,)."""
    n = len(alphas)
    before = np.full(1 << n, -np.inf)
    before[0] = 0.0
    for varsets in _by_size(n)[1:]:
        workers.check()
        for i in range(n):
            own = varsets[varsets >> i & 1 == 1]
            rest = own ^ (1 << i)
            before[own] = np.logaddexp(before[own], before[rest] + alphas[i, rest])
    return before


def _after(alphas: Logs, workers: Workers) -> Logs:
    """The logarithm of H: (2^n,)."""
    n = len(alphas)
    after = np.full(1 << n, -np.inf)
    after[-1] = 0.0
    for varsets in _by_size(n)[-2::-1]:
        for some in _portions(varsets, n):
            workers.check()
            terms = _terms(some, alphas, after)
            most = terms.logs.max(axis=1)
            finite = np.where(most > -np.inf, most, 0.0)
            total = terms.beside(finite).sum(axis=1)
            with np.errstate(divide="ignore"):
                after[some] = np.log(np.maximum(total, 0.0)) + finite
    return after


def _over_networks(table: Logs, alphas: Logs, workers: Workers) -> Summed:
    """By the derivatives of the sum by what it is made of, backwards."""
    n, after = len(alphas), _after(alphas, workers)
    through, flux = np.zeros(1 << n), np.zeros((n, 1 << n))  # what passes a set, and adds a variable to it, signed
    through[0] = 1.0
    for varsets in _by_size(n)[:-1]:
        for some in _portions(varsets[after[varsets] > -np.inf], n):
            workers.check()
            terms = _terms(some, alphas, after)
            share = terms.beside(after[some])
            share *= through[some][:, None]
            np.add.at(through, terms.where.ravel(), share.ravel())  # which takes six times as long of two dimensions
            for own in terms.free.T[::-1]:
                without, along = np.split(share, 2, axis=1)
                flux[own, some] += along.sum(axis=1)
                share = without + along
    families = np.zeros_like(table)
    for i in range(n):
        for sign in (1.0, -1.0):
            workers.check()
            inside = sign * flux[i] > 0.0
            through = np.full(1 << n, -np.inf)
            through[inside] = np.log(sign * flux[i, inside]) - alphas[i, inside]
            _add_supersets(through)
            families[i] += sign * np.exp(through - table[i])
    return Summed(float(after[0]), families)


class _Terms(NamedTuple):
    """Of m sets of one size with w variables outside: the logarithm of prod over S of alpha_j and of what H has of the
    set with S, (m, 2^w), -inf for the empty S; signs (2^w,); where: the sets with S, (m, 2^w); free: the variables
    outside each, ascending, (m, w)."""

    logs: Logs
    signs: NDArray[np.float64]
    where: NDArray[np.int64]
    free: NDArray[np.int64]

    def beside(self, logs: Logs) -> NDArray[np.float64]:
        """The terms, signed, over numbers with these logarithms, (m,). The logarithms of the terms are gone then."""
        self.logs.__isub__(logs[:, None])
        np.exp(self.logs, out=self.logs)
        return np.multiply(self.logs, self.signs, out=self.logs)


def _alphas(table: Logs, workers: Workers) -> Logs:
    """The logarithm of what the families of each child inside each set weigh together: (n, 2^n)."""
    alphas = -table
    for own in alphas:
        workers.check()
        for bit in range(len(table)):
            halves = own.reshape(-1, 2, 1 << bit)
            halves[:, 1] = np.logaddexp(halves[:, 0], halves[:, 1])
    return alphas


def _add_supersets(table: Logs) -> None:
    """Let each entry be the logarithm of the sum over its supersets."""
    for bit in range(table.size.bit_length() - 1):
        halves = table.reshape(-1, 2, 1 << bit)
        halves[:, 0] = np.logaddexp(halves[:, 0], halves[:, 1])


def _by_size(n: int) -> list[NDArray[np.int64]]:
    """All sets by their sizes, from 0 to n."""
    sizes = np.bitwise_count(np.arange(1 << n))
    return [np.flatnonzero(sizes == size) for size in range(n + 1)]


def _portions(varsets: NDArray[np.int64], n: int) -> Iterator[NDArray[np.int64]]:
    """Sets of one size, so many that their terms are not too many."""
    if varsets.size:
        step = max(1, TOGETHER >> (n - int(varsets[0]).bit_count()))
        yield from np.split(varsets, range(step, varsets.size, step))


def _terms(varsets: NDArray[np.int64], alphas: Logs, after: Logs) -> _Terms:
    outside = (varsets[:, None] >> np.arange(len(alphas))) & 1 == 0
    free = np.nonzero(outside)[1].reshape(varsets.size, -1)
    shape = (varsets.size, 1 << free.shape[1])
    logs, where, signs = np.zeros(shape), np.empty(shape, np.int64), np.full(shape[1], -1.0)
    where[:, 0] = varsets
    for at, own in enumerate(free.T):
        without, along = slice(1 << at), slice(1 << at, 2 << at)
        np.add(logs[:, without], alphas[own, varsets][:, None], out=logs[:, along])
        np.bitwise_or(where[:, without], (1 << own)[:, None], out=where[:, along])
        signs[along] = -signs[without]
    logs += after[where]
    logs[:, 0] = -np.inf
    return _Terms(logs, signs, where, free)
