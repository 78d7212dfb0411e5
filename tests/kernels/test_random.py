"""Random numbers for arrays as a whole."""

import numpy as np

from extbnsl.kernels.random import random_words


def test_a_seed_and_a_shape_say_which_numbers_there_are():
    some = random_words(5, 3, 4)
    assert some.shape == (3, 4)
    assert some.dtype == np.uint64
    assert (some == random_words(5, 3, 4)).all()
    assert (some.ravel()[:7] == random_words(5, 7)).all()
    assert np.unique(np.concatenate([random_words(seed, 1000) for seed in (0, 1, 2**32 - 1)])).size == 3000


def test_every_bit_is_set_as_often_as_not():
    numbers = np.concatenate([random_words(seed, 100) for seed in range(400)])
    for bit in range(64):
        assert abs((numbers >> np.uint64(bit) & np.uint64(1)).mean() - 0.5) < 0.5 * 5 / np.sqrt(numbers.size)


def test_their_order_is_any_permutation_as_often_as_any_other():
    orders = np.argsort(np.concatenate([random_words(seed, 4, 3) for seed in range(6000)]), axis=1)
    _, counts = np.unique(orders @ [9, 3, 1], return_counts=True)
    assert counts.size == 6
    assert (abs(counts - 4000) < 5 * np.sqrt(4000)).all()
