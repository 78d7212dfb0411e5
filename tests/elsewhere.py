"""Tasks in other processes: they are pure functions of values that can be pickled."""

from extbnsl.machine.workers import Workers, never


class Elsewhere(Workers):
    """Workers whose streams of tasks another executor runs, one after the other; it stays the caller's."""

    def __init__(self, threads, executor, stop=never):
        super().__init__(threads, stop)
        self._elsewhere = executor

    def stream(self, task, arguments, ahead, forget):
        for each in arguments:
            self.check()
            yield self._elsewhere.submit(task, *each).result()
