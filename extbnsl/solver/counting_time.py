"""Whether counting all parent sets of a size can come to its end in the time that is left."""

from extbnsl.compiling import clock
from extbnsl.events import Event, Observer, StageAdvanced

SURE = 0.15  # of a size that is done before its time is extrapolated: its first steps are shorter than the others
LEAST = 0.05  # of the time, that it takes until then at least
DOUBT = 1.2  # times as long as is left may be expected


class CountingTime:
    """Hears how counting advances, and passes it on; `over` once the moment `end` of `compiling.clock` has come, or the
    size of parent sets that is being judged cannot be completed until then."""

    def __init__(self, end: float, observer: Observer) -> None:
        self._end, self._observer = end, observer
        self._seconds = end - clock()
        self._size, self._began = "", clock()
        self._hopeless = False

    def observe(self, event: Event) -> None:
        """Hear of an event."""
        self._observer(event)
        if isinstance(event, StageAdvanced) and event.total:
            self._extrapolate(event.detail, event.done / event.total)

    def _extrapolate(self, size: str, share: float) -> None:
        now = clock()
        if size != self._size:
            self._size, self._began = size, now
        taken = now - self._began
        if share >= SURE and taken >= LEAST * self._seconds:
            self._hopeless = self._hopeless or taken * (1.0 / share - 1.0) > DOUBT * (self._end - now)

    def over(self) -> bool:
        """Whether to stop counting."""
        return self._hopeless or clock() >= self._end
