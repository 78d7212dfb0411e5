"""Other people's programs as methods of `solve`, to compare with.

Each gets our local scores as a file, where it takes them, so that it solves the same problem, or else the data. Its
network is scored again by us: what it says of scores is checked and told, never taken over.
"""
