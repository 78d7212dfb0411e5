"""A forger of results: true ones, changed at random or with care, of which verify must believe nothing that is false.

`python -m tests.forge` goes on for as many as one likes; `test_forge.py` runs some of them with the other tests.
"""
