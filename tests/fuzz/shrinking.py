"""Making a case that fails smaller, while it fails in the same way."""

from dataclasses import replace

from fuzz.watchdog import run_one

TRIES = 400
ROUNDS = (0, 1, 3, 6)  # digits


class Shrinking:
    """Tries smaller trials in a watched process; for so many tries, and about so many CPU seconds."""

    def __init__(self, watched, failure, seconds, tries=TRIES, budget=240.0):
        self._watched, self._rule, self._seconds = watched, failure.rule, seconds
        self._left, self._budget = tries, budget

    def smallest(self, trial):
        """The smallest trial that is found to fail as the given one does."""
        before = None
        while before != trial:
            before = trial
            trial = self._with_fewer_options(trial)
            for smaller in trial.subject.reductions():
                trial = self._reduced(trial, smaller)
        return trial

    def _fails(self, trial):
        """Whether it fails in the same way; False when the tries are used up."""
        if self._left <= 0 or self._budget <= 0:
            return False
        outcome = run_one(self._watched, trial, self._seconds)
        self._left -= 1
        self._budget -= outcome.seconds
        return outcome.failure is not None and outcome.failure.rule == self._rule

    def _with_fewer_options(self, trial):
        for name in list(trial.options):
            fewer = replace(trial, options={n: v for n, v in trial.options.items() if n != name})
            if self._fails(fewer):
                trial = fewer
        return trial

    def _reduced(self, trial, pieces):
        """The trial without as many of the pieces as can be: pieces(subject) are what could go, and `without(subject,
        some of them)` the subject without them. First many at a time, then fewer."""
        parts, without = pieces
        size = max(1, len(parts(trial.subject)) // 2)
        while True:
            at = 0
            while at < len(every := parts(trial.subject)):
                smaller = without(trial.subject, every[at : at + size])
                if smaller is not None and self._fails(replace(trial, subject=smaller)):
                    trial = replace(trial, subject=smaller)
                else:
                    at += size
            if size == 1:
                return trial
            size = max(1, size // 2)
