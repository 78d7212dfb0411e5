"""The faces in Python: `learn` and its like, the estimator in scikit-learn's manner, and a result in a notebook."""
