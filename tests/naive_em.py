"""EM by obvious code: every completion of every record one by one, and conditional Gaussians from the joint one."""

import itertools
import math

import numpy as np


def completions(codes, arities):
    """The completed records of one of which some are missing, as tuples."""
    own = [[int(code)] if code != arity else range(arity) for code, arity in zip(codes, arities, strict=True)]
    return list(itertools.product(*own))


def probability(record, parents, tables):
    """The probability of a complete record by tables, (*arities of the parents, arity)."""
    return math.prod(float(tables[x][(*(record[p] for p in own), record[x])]) for x, own in enumerate(parents))


def posterior(codes, arities, parents, tables):
    """{completion: probability given what is observed}, and the log-likelihood of that."""
    each = {record: probability(record, parents, tables) for record in completions(codes, arities)}
    whole = math.fsum(each.values())
    return {record: own / whole for record, own in each.items()}, math.log(whole)


def fitted(weighted, arities, parents):
    """The tables of maximum likelihood of (record, weight) pairs; uniform where parents never are so."""
    tables = []
    for x, own in enumerate(parents):
        counts = np.zeros([arities[p] for p in own] + [arities[x]])
        for record, weight in weighted:
            counts[(*(record[p] for p in own), record[x])] += weight
        totals = counts.sum(axis=-1, keepdims=True)
        tables.append(np.where(totals > 0, counts / np.where(totals > 0, totals, 1), 1 / arities[x]))
    return tables


def step(dataset, parents, tables):
    """Minus the log-likelihood of what is observed, and the tables that an EM step leads to."""
    weighted, total = [], 0.0
    for codes in dataset.codes:
        each, log = posterior(codes, dataset.arities, parents, tables)
        weighted += each.items()
        total -= log
    return total, fitted(weighted, dataset.arities.tolist(), parents)


def joint_gaussian(parents, order, parameters):
    """The mean and covariance of all variables by regressions (intercept, *coefficients, variance)."""
    n = len(parents)
    mean, slopes, noise = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    for x in order:
        own = parameters[x]
        mean[x] = own[0] + own[1:-1] @ mean[list(parents[x])]
        slopes[x, list(parents[x])], noise[x] = own[1:-1], own[-1]
    root = np.linalg.inv(np.eye(n) - slopes)
    return mean, root @ np.diag(noise) @ root.T


def gaussian_moments(numbers, mean, covariance):
    """The expected mean and second moments of all records, and minus the log-likelihood of what is observed."""
    first, second, total = np.zeros(len(mean)), np.zeros_like(covariance), 0.0
    for record in numbers.values:
        seen = ~np.isnan(record)
        lacking = ~seen
        filled, spread = record.copy(), np.zeros_like(covariance)
        inverse = np.linalg.inv(covariance[np.ix_(seen, seen)])
        away = record[seen] - mean[seen]
        filled[lacking] = mean[lacking] + covariance[np.ix_(lacking, seen)] @ inverse @ away
        spread[np.ix_(lacking, lacking)] = (
            covariance[np.ix_(lacking, lacking)]
            - covariance[np.ix_(lacking, seen)] @ inverse @ covariance[np.ix_(seen, lacking)]
        )
        first += filled
        second += np.outer(filled, filled) + spread
        log_det = np.linalg.slogdet(covariance[np.ix_(seen, seen)])[1]
        total += (seen.sum() * math.log(2 * math.pi) + log_det + away @ inverse @ away) / 2
    return first, second, total


def gaussian_step(numbers, parents, order, parameters):
    """Minus the log-likelihood of what is observed, and the regressions that an EM step leads to, by moments."""
    mean, covariance = joint_gaussian(parents, order, parameters)
    first, second, total = gaussian_moments(numbers, mean, covariance)
    mean = first / numbers.records
    moments = second / numbers.records - np.outer(mean, mean)
    found = []
    for x, own in enumerate(parents):
        own = list(own)
        slopes = np.linalg.solve(moments[np.ix_(own, own)], moments[own, x]) if own else np.zeros(0)
        found.append([mean[x] - slopes @ mean[own], *slopes, moments[x, x] - slopes @ moments[own, x]])
    return total, [np.array(own) for own in found]
