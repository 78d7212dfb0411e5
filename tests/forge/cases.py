"""Forgeries: a true result, a few edits, and perhaps all figures made to fit them."""

import copy
import random
from dataclasses import dataclass

from extbnsl.core.errors import ExtbnslError
from forge.edits import ADAPTING, EDITS, LIST_EDITS, TABLE_EDITS
from forge.originals import Original

MOST_EDITS = 3


@dataclass
class Case:
    """What is told to verify: a document, the tables of its list, none if there are none, and the file of data."""

    original: Original
    document: dict
    tables: dict
    data: str
    edits: list


def forged(seed, number, originals):
    """The forgery of this number."""
    rng = random.Random(f"{seed} {number}")
    original = rng.choice(originals)
    tables = dict(original.tables) if rng.random() < 0.3 else {}
    case = Case(original, copy.deepcopy(original.document), tables, original.data, [])
    known = [*EDITS, *LIST_EDITS] if "count" in case.document else EDITS
    known = [*known, *TABLE_EDITS] if tables else known
    for _ in range(rng.randint(1, MOST_EDITS)):
        _apply(rng.choice(known), case, rng)
    if rng.random() < 0.6:
        for edit in ADAPTING:
            _apply(edit, case, rng)
        if rng.random() < 0.4:
            _apply(rng.choice(known), case, rng)
    return case


def _apply(edit, case, rng):
    """An edit, as far as it can be made of what is there."""
    try:
        edit(case, rng)
    except (ExtbnslError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        case.edits.append(f"not {edit.__name__}")
    else:
        case.edits.append(edit.__name__)
