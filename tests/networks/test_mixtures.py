"""What several networks say together of many records, against the mean of their joint tables."""

import numpy as np
import pytest
from joint_states import joint_table, summed

from extbnsl.networks.inference import Tables
from extbnsl.networks.models import OfStates, Seen, averaged
from extbnsl.networks.network import Network

ARITIES = (2, 3, 1, 2)


def random_model(rng, zeros):
    """A network of variables of these ARITIES, and its tables, with so many zeros."""
    order, parents, tables = rng.permutation(4).tolist(), [()] * 4, []
    for i, child in enumerate(order):
        parents[child] = tuple(sorted(p for p in order[:i] if rng.random() < 0.5))
    for child, own in enumerate(parents):
        table = rng.random((*(ARITIES[p] for p in own), ARITIES[child]))
        table[rng.random(table.shape) < zeros] = 0.0
        table[..., 0] += table.sum(axis=-1) == 0
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return Network(tuple("abcd"), tuple(parents)), tables


@pytest.mark.parametrize("zeros", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("seed", range(8))
def test_records_by_records(seed, zeros):
    """Each network counts as it makes a record likely; nan where none makes it possible at all."""
    rng = np.random.default_rng(seed)
    made = [random_model(rng, zeros) for _ in range(4)]
    counts = rng.integers(1, 5, 4).tolist()
    joint = sum(count * joint_table(*one) for count, one in zip(counts, made, strict=True))
    models = [OfStates(Tables.known(*one), [["s"] * arity for arity in ARITIES]) for one in made]
    observed = tuple(np.flatnonzero(rng.random(4) < 0.5).tolist())
    targets = [v for v in range(4) if v not in observed]
    codes = np.column_stack([rng.integers(0, arity, 20) for arity in ARITIES])
    for together in (False, True):
        if not targets:
            continue
        asked = zip(models, counts, strict=True)
        answer = averaged(asked, Seen(codes, np.empty((20, 0)), observed), targets, together)
        for row in range(20):
            expected = summed(joint, codes[row], observed, targets)
            possible = expected.sum() > 0.0
            if answer is None:
                assert not possible
            elif together:
                assert possible == np.isfinite(answer.joint[row % len(answer.joint)]).all()
                if possible:
                    assert answer.joint[row % len(answer.joint)] == pytest.approx(expected / expected.sum(), rel=1e-9)
            else:
                for axis, target in enumerate(targets):
                    own = expected.sum(axis=tuple(a for a in range(len(targets)) if a != axis))
                    found = answer.states[target][row % len(answer.states[target])]
                    assert possible == np.isfinite(found).all()
                    if possible:
                        assert found == pytest.approx(own / own.sum(), rel=1e-9)
