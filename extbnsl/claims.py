"""What 'optimal' means, said once: how exact a proof is, and the words for what became of a solve."""

OPTIMAL = "optimal"  # no network is cheaper, but for the tolerance
TIME_LIMIT = "time_limit"
MEMORY_LIMIT = "memory_limit"
DISK_LIMIT = "disk_limit"
INTERRUPTED = "interrupted"  # by a signal
NOT_PROVED = "not_proved"  # there is no method that goes on

STOP_REASONS = (TIME_LIMIT, MEMORY_LIMIT, DISK_LIMIT, INTERRUPTED, NOT_PROVED)
STATUSES = (OPTIMAL, *STOP_REASONS)


def tolerance(upper_bound: float) -> float:
    """How much cheaper than the incumbent a network must be to count, in nats: the proof holds within this."""
    return 1e-9 * abs(upper_bound) + 1e-9
