"""The solver with flat keywords, as `learn` has them: claim, methods, budgets and place from one list of options."""

from dataclasses import fields

import asking

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
    return asking.solve(problem, *values((Claim, Methods, Budgets, Place), options), observer=observer, stop=stop)


def estimate(problem, *, effort=60.0, observer=ignore, stop=never, **options):
    asked = values((Claim, Methods, Budgets), options)
    return asking.estimate(problem, *asked, effort=effort, observer=observer, stop=stop)


def compute_scores(dataset, *, observer=ignore, stop=never, **options):
    claim, budgets = values((Claim, Budgets), options)
    return asking.compute_scores(dataset, claim, budgets=budgets, observer=observer, stop=stop)


def flattened(asked):
    """The fields of the values of a request that a fake solver was given, as one dictionary."""
    given = asked.claim, asked.methods, asked.budgets, asked.place
    return {field.name: getattr(value, field.name) for value in given for field in fields(value)}
