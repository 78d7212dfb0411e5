"""Networks of states and their joint distribution in full: the twin of what they answer."""

import numpy as np

from extbnsl.networks.network import Network


def random_tables(rng, n, zeros=0.0):
    """A network with arcs either way, of variables with one to three states, and its tables, with so many zeros."""
    order, parents = rng.permutation(n).tolist(), [()] * n
    for i, child in enumerate(order):
        parents[child] = tuple(sorted(p for p in order[:i] if rng.random() < 0.5))
    arities = rng.integers(1, 4, n).tolist()
    tables = []
    for child, own in enumerate(parents):
        table = rng.random((*(arities[p] for p in own), arities[child]))
        table[rng.random(table.shape) < zeros] = 0.0
        table[..., 0] += table.sum(axis=-1) == 0
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return Network(tuple(f"v{j}" for j in range(n)), tuple(parents)), tables


def joint_table(network, tables):
    """The probability of each state of all variables together, by a product for each."""
    joint = np.ones([table.shape[-1] for table in tables])
    for states in np.ndindex(joint.shape):
        for child, own in enumerate(network.parents):
            joint[states] *= tables[child][(*(states[p] for p in own), states[child])]
    return joint


def summed(joint, codes, observed, targets):
    """The joint probabilities of the targets and of what is observed in a record, as an array over the targets."""
    left = [v for v in range(joint.ndim) if v not in observed]
    part = joint[tuple(int(codes[v]) if v in observed else slice(None) for v in range(joint.ndim))]
    rest = tuple(i for i, v in enumerate(left) if v not in targets)
    kept = [v for v in left if v in targets]
    return part.sum(axis=rest).transpose([kept.index(v) for v in targets])
