"""Hashing for kernels: one mixer of 64 bits, and tables by open addressing with linear probing.

A table is an array of slots: each has the number of an entry plus one, 0 if it is free. What an entry is lies in arrays
by these numbers. The search for an entry begins at its first slot and goes from one slot to the next until it has met
the entry or a free slot; so a table must not be full. `slot_of` does that for entries that are 64-bit keys; who has
others compares them.
"""

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined

GOLDEN = u64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, made odd


@inlined
def mixed(key):
    """The bits of a key, mixed one to one: neighbouring keys are far apart, and 0 stays 0. (Steele, Lea, Flood 2014:
    the last steps of splitmix64.)"""
    key = (key ^ (key >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> u64(27))) * u64(0x94D049BB133111EB)
    return key ^ (key >> u64(31))


@inlined
def hashed(key):
    """A 64-bit hash, such that sums of hashes tell sets of keys apart. (Steele, Lea, Flood 2014: splitmix64.)"""
    return mixed(key + GOLDEN)


@inlined
def spread(key):
    """A hash whose upper bits are good enough for a table: one multiplication. (Knuth 1973: Fibonacci hashing.)"""
    return key * GOLDEN


@inlined
def extended(hash_, word):
    """The hash of several words, by that of those before: one multiplication a word."""
    hash_ = (hash_ ^ word) * u64(0xBF58476D1CE4E5B9)
    return hash_ ^ (hash_ >> u64(32))


@inlined
def first_slot(hash_, slots):
    """Where the search for an entry begins: by the upper half of its hash, for any number of slots."""
    return ((hash_ >> u64(32)) * u64(slots.size)) >> u64(32)


@inlined
def next_slot(at, slots):
    """The slot that comes after another one, from the last the first."""
    after = at + u64(1)
    return after if after < u64(slots.size) else u64(0)


@inlined
def slot_of(key, hash_, keys, slots):
    """The slot of a key, or the free one where it belongs; keys uint64, by the numbers of the entries."""
    at = first_slot(hash_, slots)
    while slots[at] and keys[slots[at] - 1] != key:
        at = next_slot(at, slots)
    return at
