"""The kinds of cases: what each draws at random, and what it checks of that."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fuzz import command_checks, data_checks, score_checks
from fuzz.made_records import made_from
from fuzz.score_file import score_file_from
from fuzz.table import table_from


@dataclass(frozen=True)
class Kind:
    """draw(rng) gives a subject and options; check(subject, options, rng) raises what is wrong. share: how many of the
    cases, beside other kinds; seconds: of CPU, that a case may take. Most take a tenth of one; those that are made to
    branch, or to spill, where they need not, up to 75."""

    draw: Callable
    check: Callable
    share: float
    seconds: float = 120.0


@dataclass(frozen=True)
class Trial:
    """A case as it was drawn, or made smaller: what a check is given."""

    kind: str
    seed: int
    number: int
    subject: Any
    options: dict = field(default_factory=dict)

    def run(self):
        """Raise what is wrong; a trial without a subject is drawn first."""
        trial = self.drawn() if self.subject is None else self
        KINDS[self.kind].check(trial.subject, trial.options, self._random("check"))

    def _random(self, of):
        return np.random.default_rng([self.seed, self.number, zlib.crc32(f"{self.kind} {of}".encode())])

    def drawn(self):
        """The same with the subject and the options of its seed and its number."""
        subject, options = KINDS[self.kind].draw(self._random("draw"))
        return replace(self, subject=subject, options=options)

    @property
    def name(self):
        return f"{self.kind}-{self.seed}-{self.number}"

    def document(self):
        own = {name: getattr(self, name) for name in ("kind", "seed", "number", "options")}
        return own | {"subject": self.subject.document()}


KINDS = {
    "solve": Kind(score_checks.draw_solve, score_checks.check_solve, 6.0),
    "ties": Kind(score_checks.draw_ties, score_checks.check_ties, 0.5),
    "large": Kind(score_checks.draw_large, score_checks.check_large, 1.0),
    "components": Kind(score_checks.draw_components, score_checks.check_components, 1.0),
    "budgets": Kind(score_checks.draw_budgets, score_checks.check_budgets, 2.0),
    "resume": Kind(score_checks.draw_resume, score_checks.check_resume, 1.0),
    "kbest": Kind(score_checks.draw_kbest, score_checks.check_kbest, 2.0),
    "approximate": Kind(score_checks.draw_approximate, score_checks.check_approximate, 0.5),
    "baseline": Kind(score_checks.draw_baseline, score_checks.check_baseline, 1.0),
    "states": Kind(data_checks.draw_states, data_checks.check_table, 3.0),
    "numbers": Kind(data_checks.draw_numbers, data_checks.check_table, 1.5),
    "records": Kind(data_checks.draw_records, data_checks.check_data, 3.0),
    "command": Kind(command_checks.draw_command, command_checks.check_command, 1.0),
}


def trial_at(seed, number, kinds):
    """The case of this number, of one of the kinds by their shares."""
    shares = np.array([KINDS[kind].share for kind in kinds])
    rng = np.random.default_rng([seed, number])
    kind = kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))]
    return Trial(kind, seed, number, None)


def trial_from(document):
    """The trial of a document of `Trial.document`."""
    own = document["subject"]
    read = table_from if "rows" in own else made_from if "way" in own else score_file_from
    subject = read(own)
    return Trial(document["kind"], document["seed"], document["number"], subject, document["options"])
