"""Calling from a test what only kernels call."""

from extbnsl.kernels.compiler import njit


def called(kernel):
    """A kernel that Python can call and that does nothing but call the one given."""

    def call(*arguments):
        return kernel(*arguments)

    return njit(call)
