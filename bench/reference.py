"""A fixed piece of work, to compare machines and moments by."""

import time

STEPS = 1_000_000
ROUNDS = 5


def steps(count: int) -> int:
    """`count` steps of a 64-bit xorshift generator in plain Python (Marsaglia 2003); returns its state."""
    state = 88_172_645_463_325_252
    for _ in range(count):
        state ^= (state << 13) & 0xFFFF_FFFF_FFFF_FFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFF_FFFF_FFFF_FFFF
    return state


def reference_seconds() -> float:
    """CPU seconds of STEPS steps: the least of ROUNDS, for noise only ever adds."""
    spent = []
    for _ in range(ROUNDS):
        before = time.process_time()
        steps(STEPS)
        spent.append(time.process_time() - before)
    return min(spent)
