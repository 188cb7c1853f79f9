"""Lists of pairs: array code of the host, and programs of a GPU where there is one."""

import numpy as np
import pytest
from conftest import GPU

from gmatch import cuda
from gmatch.arrays import mover_to, to_host
from gmatch.backends.pair_lists import lists_of


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.skipif(not GPU, reason="needs a GPU"))])
def device(request):
    if request.param == "gpu":
        cuda.require()
    return request.param


def draw(rng, most, pairs, twins=False):
    keys = np.sort(rng.integers(0, pairs, rng.integers(0, most)))
    keys = keys if twins else np.unique(keys)
    return keys, (keys * 7 % 10).astype(float)


@pytest.mark.parametrize("seed", range(20))
def test_lists_of_pairs(seed, device):
    rng = np.random.default_rng(seed)
    lists, here = lists_of(device), mover_to(device)
    rows, columns = shape = tuple(rng.integers(1, 30, 2).tolist())
    first, second = draw(rng, 200, rows * columns), draw(rng, 200, rows * columns, twins=True)
    keys, costs = first
    moved = [tuple(map(here, pairs)) for pairs in (first, second)]
    expected = np.union1d(keys, second[0])
    merged = lists.merged(*moved)
    assert (to_host(merged[0]) == expected).all() and (to_host(merged[1]) == expected * 7 % 10).all()
    assert (to_host(lists.merged((moved[0][0], None), (moved[1][0], None))[0]) == expected).all()

    matrix = np.full(shape, np.inf)
    matrix[np.divmod(keys, columns)] = costs
    begins, numbers = map(to_host, lists.rows_of(moved[0][0], shape))
    assert begins.dtype == numbers.dtype == np.int32 and (numbers == keys % columns).all()
    assert (np.diff(begins) == (matrix < np.inf).sum(axis=1)).all() and begins[0] == 0

    v = rng.integers(0, 5, columns).astype(float)
    above = matrix - v
    assert (to_host(lists.least_of_rows(moved[0], here(v), shape)) == above.min(axis=1)).all()
    is_best = (above == above.min(axis=1)[:, None]) & (matrix < np.inf)
    is_known = np.isin(np.arange(rows * columns), second[0]).reshape(shape)
    wanting = lists.rows_that_want(moved[0], here(v), shape, moved[1][0])
    assert wanting == (~(is_best & is_known).any(axis=1)).sum()
    if len(keys):
        arrays, lowest, highest = lists.less_duals(moved[0], here(v), shape)
        assert (to_host(arrays[2]) == above[np.divmod(keys, columns)]).all()
        assert (lowest, highest) == (above[matrix < np.inf].min(), above[matrix < np.inf].max())

    turned = to_host(lists.turned(moved[0][0], 3, shape))
    at, of = np.divmod(keys, columns)
    assert (turned == np.sort(of * rows + at + 3)).all()
