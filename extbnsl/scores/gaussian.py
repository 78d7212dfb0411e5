"""Gaussian BIC: linear regressions with Gaussian noise, a price for each coefficient, intercept and variance.

cost(X | P) = N / 2 (ln(2 pi RSS / N) + 1) + (ln N / 2) (|P| + 2)     (nats)

RSS is the residual sum of squares of the regression of X on P with an intercept; the first term is minus the largest
log-likelihood, whose variance is RSS / N. It is minus the score "bic-g" of pgmpy; that of bnlearn divides RSS by the
degrees of freedom (Geiger and Heckerman 1994). Costs may be negative: they are those of densities, in the units of the
data. Equivalent networks cost the same.

Misfits follow from determinants as those of discrete variables follow from entropies. With C the correlation matrix,
h(S) = N / 2 ln det C[S] and s_X the standard deviation of X, the misfit is

    N / 2 (ln(2 pi) + 1) + N ln s_X + h(P + X) - h(P).

Let f_X = h(all) - h(all but X): what the largest parent set leaves. Then h(S) less the sum of f over S, which falls
nowhere by the definition of f and is submodular as h is (the inequality of Hadamard and Fischer), is all that the
searches of parent sets ask of entropies: what X has left, h(P + X) - h(P) - f_X, is never negative, it never rises with
P, and Y cannot take more of it than Y itself has left. So all that they prove of discrete variables holds here, the
price of a parent being ln N / 2.
"""

from extbnsl.scores.mdl import half_log
from extbnsl.scores.score import Titled

OWN_PARAMETERS = 2  # the intercept and the variance


class GaussianBIC(Titled):
    """The score of continuous variables; see the module."""

    def parameter(self, records: int) -> float:
        """What a coefficient, an intercept or a variance costs, in nats."""
        return half_log(records)


GAUSSIAN_BIC = GaussianBIC("gaussian-bic", "Gaussian BIC", "BIC")
