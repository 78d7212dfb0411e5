"""The joint Gaussian of linear regressions, with matrices in full: the twin of what networks of numbers answer."""

import math

import numpy as np


def joint_gaussian(parents, coefficients, intercepts, variances):
    """Mean (n,) and covariance (n, n): with x = a + B x + noise of variances D, (I-B)^-1 a and (I-B)^-1 D (I-B)^-T."""
    n = len(parents)
    slopes = np.zeros((n, n))
    for child in range(n):
        for parent, coefficient in zip(parents[child], coefficients[child], strict=True):
            slopes[child, parent] = coefficient
    mixing = np.linalg.inv(np.eye(n) - slopes)
    return mixing @ np.asarray(intercepts), mixing @ np.diag(variances) @ mixing.T


def fitted_joint(values, parents):
    """The joint Gaussian of the regressions that numpy's least squares give of each column on its parents."""
    fits = []
    for child, own in enumerate(parents):
        design = np.column_stack([np.ones(len(values)), values[:, list(own)]])
        found = np.linalg.lstsq(design, values[:, child], rcond=None)[0]
        fits.append((found[1:], found[0], np.mean((values[:, child] - design @ found) ** 2)))
    return joint_gaussian(parents, *zip(*fits, strict=True))


def log_density(mean, covariance, records):
    """The logarithm of the multivariate normal density of each record."""
    off = records - mean
    distances = np.einsum("ij,ij->i", off, np.linalg.solve(covariance, off.T).T)
    return -(len(mean) * math.log(2 * math.pi) + np.linalg.slogdet(covariance)[1] + distances) / 2


def conditional_mean(mean, covariance, records, target):
    """The mean of one variable given all others in each record, by the Schur complement."""
    others = [j for j in range(len(mean)) if j != target]
    gain = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, target])
    return mean[target] + (records[:, others] - mean[others]) @ gain


def check_moments(mean, covariance, records, errors=5.0):
    """Assert that the sample moments are within so many standard errors of these."""
    count, spread = len(records), np.diag(covariance)
    assert (np.abs(records.mean(axis=0) - mean) < errors * np.sqrt(spread / count)).all()
    deviation = np.sqrt((np.outer(spread, spread) + covariance**2) / count)
    assert (np.abs(np.cov(records.T, ddof=0).reshape(covariance.shape) - covariance) < errors * deviation).all()
