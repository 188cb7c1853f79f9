"""How far off sums of products on tensor cores are, beside what bounds of points assume: see backends/point_bounds.py.

    python tests/test_tensor_core_rounding.py

tells it for the GPU at hand.
"""

import numpy as np
import pytest
from conftest import GPU

from gmatch import cuda
from gmatch.backends.point_bounds import OF_AN_ADDITION

# Numbers of factors: 3 for each of 12, 16, 64, 512 and 2,048 coordinates.
LENGTHS = 36, 48, 192, 1536, 6144
KINDS = np.float32, np.float16
# Smaller numbers have fewer digits, and count as this number: `LEAST_SQUARE` of bounds has room for that.
LEAST_NORMAL = {np.float32: 0.0, np.float16: 2.0**-14}
# Products this small are cut off to 0, which bounds allow for separately.
LEAST = 2.0**-118


def short(numbers):
    """Numbers of 11 binary digits, which tensor cores read without a rounding."""
    return ((numbers.astype(np.float32).view(np.uint32) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def rows_of_factors(rng, length):
    """Rows whose sums are hard: one number, in many places, beside many numbers that are near its last digits."""
    rows = []
    for bits in range(8, 34):
        for small in (2.0**-bits, 2.0**-bits * (2 - 2**-10), 2.0**-bits * 1.5):
            for place in (0, length // 2, length - 1):
                row = np.full(length, small)
                row[place] = 1
                rows.append(row)
            row = np.full(length, small)  # a sum that vanishes except for what was added between
            row[0], row[-1] = 1, -1
            rows.append(row)
    rows += [rng.standard_normal(length) for _ in range(40)]
    rows += [np.exp2(rng.uniform(-24, 0, length)) * (1 + rng.random(length)) for _ in range(40)]
    rows += [np.exp2(rng.integers(-14, 1, length)) * (2 - 2**-10) for _ in range(20)]
    return short(np.array(rows))


def factors(rng, length):
    """Two matrices. Their products have many signs, sizes and orders."""
    x = rows_of_factors(rng, length)
    signs = [np.ones(length), -np.ones(length), (-1.0) ** np.arange(length), *rng.choice([-1, 1], (13, length))]
    y = np.concatenate([short(np.array(signs)), short(rng.standard_normal((16, length))), x])
    return x, y


def worst_share(product, length, seed=0, kind=np.float32):
    """The largest error, as a share of the error that bounds allow, for factors of this type.

    The sum in float64 is off by at most `length` * 2**-53 of all magnitudes, 2**-31 of what is allowed.
    """
    x, y = (numbers.astype(kind) for numbers in factors(np.random.default_rng(seed), length))
    off = abs(product(x, y).astype(np.float64) - x.astype(np.float64) @ y.T.astype(np.float64))
    x, y = (np.maximum(abs(numbers.astype(np.float64)), LEAST_NORMAL[kind]) for numbers in (x, y))
    magnitudes = x @ y.T
    return float((off / (length * (OF_AN_ADDITION * magnitudes + LEAST))).max())


def cut_off(digits):
    """Sums in float64, of which each keeps only this number of binary digits beside the largest magnitude so far."""

    def product(x, y):
        sums, largest = np.zeros((2, len(x), len(y)))
        for k in range(x.shape[1]):
            terms = np.outer(x[:, k].astype(np.float64), y[:, k])
            largest = np.maximum(largest, np.maximum(abs(terms), abs(sums)))
            units = np.exp2(np.floor(np.log2(np.maximum(largest, 2.0**-100))) - digits + 1)
            sums = np.trunc(sums / units) * units + np.trunc(terms / units) * units
        return sums

    return product


def on_tensor_cores(x, y):
    cupy = cuda.cupy()
    out = cupy.empty((len(x), len(y)), np.float32)
    cuda.product_into(cupy.asarray(x), cupy.asarray(y), out)
    return out.get()


@pytest.mark.parametrize(("digits", "is_allowed"), [(24, True), (23, True), (22, False)])
def test_that_the_inputs_tell_roundings_apart(digits, is_allowed):
    assert (worst_share(cut_off(digits), 48) <= 1) == is_allowed


@pytest.mark.skipif(not GPU, reason="no GPU")
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_that_tensor_cores_round_as_bounds_assume(length, kind):
    assert worst_share(on_tensor_cores, length, kind=kind) <= 1


if __name__ == "__main__":
    for kind in KINDS:
        for number in LENGTHS:
            shares = [worst_share(on_tensor_cores, number, seed, kind) for seed in range(4)]
            print(f"{number} factors of {kind.__name__}: {max(shares):.4f} of the error that is allowed")
