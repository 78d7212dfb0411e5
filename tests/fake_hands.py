"""Hands that behave badly, in threads of this process; all that tasks are given and return goes through bytes."""

import asyncio
import pickle
import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from extbnsl.machine.hands import Driver, Lost, done_by, hear, told_of_this


class Kept:
    """A part that was put somewhere, as bytes; nobody has it once it is `gone`."""

    def __init__(self, part):
        self.packed, self.gone = pickle.dumps(part, 5), False


class FakeHands:
    """Hands for tests.

    lose: the share of bundles that do not come back; forget: of the bundles before which all parts are gone; repeat: of
    those that are done twice; seconds: by how much answers are late, at most, so that they come in any order; away: the
    share of looks at which nobody is there, for a moment. `bundles` have the numbers of tasks sent.
    """

    room, patience, together, nobody = 1 << 24, 30.0, 1, False

    def __init__(self, seed=0, slots=3, lose=0.0, forget=0.0, repeat=0.0, seconds=0.0, away=0.0):
        self._random, self._slots = random.Random(seed), slots
        self._lose, self._forget, self._repeat, self._seconds, self._away = lose, forget, repeat, seconds, away
        self._pool, self._lock = ThreadPoolExecutor(max(1, slots)), threading.Lock()
        self._parts, self._back, self._driver = [], 0.0, Driver(f"fake-{seed}", told_of_this())
        self.bundles, self.given_up, self.missing, self.kept = [], [], 0.0, {}

    @property
    def slots(self):
        """As `Hands`."""
        if time.monotonic() < self._back:
            return 0
        if self._chance(self._away):
            self._back = time.monotonic() + 0.05
            return 0
        return self._slots

    def put(self, part, check):
        """As `Hands`."""
        self._parts.append(Kept(part))
        return self._parts[-1]

    def send(self, token, tasks, body, parts):
        """As `Hands`."""
        answer = Future()
        self.bundles.append(tasks)
        if self._chance(self._forget):
            for part in self._parts:
                part.gone = True
        self._pool.submit(self._answer, answer, token, body, parts)
        return answer

    def give_up(self, token):
        """As `Hands`."""
        self.given_up.append(token)
        asyncio.run(hear(self._driver.name, (token,)))

    def see(self, mark):
        """As `Hands`."""
        return mark.parent.is_dir()

    def beat(self):
        """As `Hands`."""
        asyncio.run(hear(self._driver.name, ()))

    def _answer(self, answer, token, body, parts):
        time.sleep(self._random.random() * self._seconds)
        if self._chance(self._lose) or any(part.gone for part in parts):
            answer.set_exception(Lost())
            return
        times = 2 if self._chance(self._repeat) else 1
        for _ in range(times):
            packed = done_by(self._driver, token, body, *(pickle.loads(part.packed) for part in parts))
        answer.set_result(packed)

    def _chance(self, share):
        with self._lock:
            return self._random.random() < share


WAYS = {
    "kind": {},
    "late": {"seconds": 0.02},
    "lost": {"lose": 0.3, "seconds": 0.005},
    "forgetful": {"forget": 0.2, "lose": 0.1},
    "twice": {"repeat": 0.5, "seconds": 0.005},
    "away": {"away": 0.2, "seconds": 0.005},
    "useless": {"lose": 1.0},
    "nobody": {"slots": 0},
}


def hands_that_are(way, seed=0):
    """Hands of one of the WAYS."""
    return FakeHands(seed, **WAYS[way])
