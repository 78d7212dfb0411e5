"""The solver with flat keywords, as `learn` has them: claim, methods, budgets and place from one list of options."""

from dataclasses import fields

import extbnsl.solver.estimate
import extbnsl.solver.solve
from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import never
from extbnsl.proof.methods import Methods
from extbnsl.solver.place import Place


def values(kinds, options):
    """One value of each kind from the options, which must all be used."""
    known = {kind: {field.name for field in fields(kind)} for kind in kinds}
    unknown = set(options) - set().union(*known.values())
    assert not unknown, f"no option of {kinds}: {unknown}"
    return [kind(**{name: options[name] for name in options if name in known[kind]}) for kind in kinds]


def solve(problem, *, observer=ignore, stop=never, **options):
    asked = values((Claim, Methods, Budgets, Place), options)
    return extbnsl.solver.solve.solve(problem, *asked, observer=observer, stop=stop)


def estimate(problem, *, effort=60.0, observer=ignore, stop=never, **options):
    asked = values((Claim, Methods, Budgets), options)
    return extbnsl.solver.estimate.estimate(problem, *asked, effort=effort, observer=observer, stop=stop)


def compute_scores(dataset, *, observer=ignore, stop=never, **options):
    asked = values((Claim, Budgets), options)
    return extbnsl.solver.solve.compute_scores(dataset, *asked, observer=observer, stop=stop)


def flattened(asked):
    """The fields of the values that a fake solver was given, as one dictionary."""
    return {field.name: getattr(value, field.name) for value in asked for field in fields(value)}
