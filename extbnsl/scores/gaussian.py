"""Gaussian BIC: linear regressions with Gaussian noise, a price for each coefficient, intercept and variance.

cost(X | P) = N / 2 (ln(2 pi RSS / N) + 1) + (ln N / 2) (|P| + 2)     (nats)

RSS is the residual sum of squares of the regression of X on P with an intercept; the first term is minus the largest
log-likelihood, whose variance is RSS / N. It is minus the score "bic-g" of pgmpy; that of bnlearn divides RSS by the
degrees of freedom (Geiger and Heckerman 1994). Costs may be negative: they are those of densities, in the units of the
data. Equivalent networks cost the same.

Misfits follow from determinants as those of discrete variables follow from entropies. With C the correlation matrix,
h(S) = N / 2 ln det C[S] and s_X the standard deviation of X, the misfit is

    N / 2 (ln(2 pi) + 1) + N ln s_X + h(P + X) - h(P).

A set of columns is regular if the others of the set leave each of them LEAST_SHARE of its variance: if no diagonal
entry of the inverse of C[S] is larger than 1 / LEAST_SHARE. A family (X, P) is allowed if P + X is regular. Otherwise
it is singular: a regression on collinear parents, or one that fits exactly, of which the cost has no lower end. The
order of the columns makes no difference, nor which of P + X is the child, so that equivalent networks are allowed
together. Subsets of a regular set are regular, for fewer others leave more. A column alone is, if it varies.

Let f_X be what all others of a regular set leave X at least: no more than h(S) - h(S - X) for any regular S with X.
Where all columns together are regular that is h(all) - h(all but X), which is the least since h is submodular (the
inequality of Hadamard and Fischer). Of regular sets, h(S) less the sum of f over S is all that the searches of parent
sets ask of entropies: what X has left, h(P + X) - h(P) - f_X, is never negative; it never rises with P; and Y cannot
take more of it than Y itself has left, since h(P + X + Y) - h(P + X) is no less than f_Y. So all that they prove of
discrete variables holds here, the price of a parent being ln N / 2.

**Measurement errors.** Where a column X has an error, a standard deviation e_X, C is made of the covariances with e_X^2
added to the variance of X. So the misfit is minus the largest mean log-likelihood of values to which independent errors
of these sizes are added, and RSS / N becomes the least, over coefficients b, of RSS(b) / N + e_X^2 + the sum of
(b_p e_p)^2, which is no less than e_X^2. All that is said here goes by C alone, so it stays: misfits never rise with a
parent, equivalent networks cost the same, f is what it is. Where each e_X is more than about 1e-5 of the standard
deviation of X, no set is singular. (RSS / N cut off at e_X^2 would do less: which of two copies is the child would
make a difference, and what Y takes of X could be more than Y has left.) With N records no family has more than N - 2
parents, whatever the errors are.

That singular families are missing makes no rule unsafe. A rule drops a parent set R of X for the sake of a subset, by
figures of subsets of R + X alone. If (X, R) is allowed all of these are regular: the figures are what they should be,
and the subset that is named is allowed. What figures of singular sets say is of singular families alone, which are left
out when all are found. They only should be few: so no pivot counts for less than about LEAST_SHARE, a singular family
seems to leave next to nothing, and all that have more parents are dropped for its sake.
"""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.scores.mdl import half_log
from extbnsl.scores.score import PenalisedScore

OWN_PARAMETERS = 2  # the intercept and the variance
LEAST_SHARE = 1e-10  # of the variance of a column, that the others of a regular set leave it


class GaussianBIC(PenalisedScore):
    """The score of continuous variables; see the module. A coefficient, the intercept, the variance are parameters."""


def blurred(columns: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns (N, m) of mean 0 with m more rows that add to the variance of each the square of its error, (m,)."""
    return np.vstack([columns, math.sqrt(len(columns)) * np.diag(errors)])


GAUSSIAN_BIC = GaussianBIC("gaussian-bic", "Gaussian BIC", "BIC", half_log)
