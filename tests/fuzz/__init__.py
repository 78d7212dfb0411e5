"""Random problems by the thousand, held against slow twins and against relations that must hold.

`python -m tests.fuzz` runs them for as long as one likes; `test_fuzz.py` runs some of them with the other tests.
"""
