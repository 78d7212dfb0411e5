"""The public face in scikit-learn's manner: an estimator that learns a network, and asks it about records.

Nothing of scikit-learn is needed: the estimator has what its tools look for. It keeps a value that `answers` for the
network that `fit` has learned.
"""

from extbnsl.python.estimator.learner import BayesianNetworkLearner

__all__ = ["BayesianNetworkLearner"]
