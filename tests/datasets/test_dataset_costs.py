"""Generated costs: types that hold the values, and extreme parameters, which are right or refused."""

from fractions import Fraction

import numpy as np
import pytest

from gmatch.datasets import costs
from gmatch.errors import InvalidInput

HUGE = 10**5000  # Python refuses to write it


@pytest.mark.parametrize(
    ("spec", "dtype", "highest"),
    [
        ("uniform:300:10", np.int32, 3000),
        ("uniform:2:1073741823.5", np.int32, 2**31 - 1),
        ("uniform:300:1000000000", np.int64, 3 * 10**11),
        ("uniform:1:9223372036854775807", np.int64, 2**63 - 1),
        ("few_values:5", np.int32, 2),
        ("few_values:5:2147483648", np.int32, 2**31 - 1),
        ("few_values:5:99999999999", np.int64, 99999999998),
        ("few_values:5:9223372036854775807", np.int64, 2**63 - 2),
    ],
)
def test_integers_are_as_wide_as_their_values(spec, dtype, highest):
    made = costs.generate(spec)
    assert made.dtype == dtype
    assert 0 <= made.min() and made.max() <= highest
    if highest > 100:
        assert made.max() > highest / 4, "nothing wrapped"


def test_the_spec_that_wrapped():
    made = costs.generate("uniform:3000:1000000")
    assert made.min() >= 0 and made.max() > 2**31


@pytest.mark.parametrize(
    ("spec", "dtype", "value"),
    [
        ("constant:5", np.int32, 7),
        ("constant:5:-3", np.int32, -3),
        ("constant:5:7.0", np.int32, 7),
        ("constant:5:-2147483648", np.int32, -(2**31)),
        ("constant:5:3000000000", np.int64, 3000000000),
        ("constant:5:9007199254740993", np.int64, 2**53 + 1),
        ("constant:5:2.5", np.float64, 2.5),
        ("constant:5:1e30", np.float64, 1e30),
    ],
)
def test_constants(spec, dtype, value):
    made = costs.generate(spec)
    assert made.shape == (5, 5) and made.dtype == dtype
    assert (made == value).all()


def test_types_that_were_asked_for():
    assert costs.uniform(5, dtype=np.int8).dtype == np.int8
    assert costs.uniform(5, dtype=np.float32).dtype == np.float32
    assert costs.constant(2, 2.5, dtype="float32").tolist() == [[2.5, 2.5], [2.5, 2.5]]
    assert costs.constant(2, 200, dtype=np.uint8)[0, 0] == 200
    assert costs.machol_wien(3).dtype == np.int64
    assert costs.machol_wien(11, dtype=np.int8).max() == 121
    assert costs.blocks(20, dtype=np.float16).dtype == np.float16
    assert costs.uniform(np.int64(5), np.float32(2.5)).max() <= 12
    assert costs.constant(1, Fraction(1, 4)) == 0.25


@pytest.mark.parametrize(
    "spec",
    [
        "uniform:5:0",
        "low_rank:5:0",
        "near_ties:5:0",
        "blocks:5:1",
        "blocks:5:99999999999",
        "near_ties:5:1e300",
        "near_ties:5:" + "9" * 40,
    ]
    + [f"{name}:0" for name in costs.FAMILIES]
    + [f"{name}:1" for name in costs.FAMILIES],
)
def test_extremes_that_are_possible(spec):
    made = costs.generate(spec)
    assert made.shape == (int(spec.split(":")[1]),) * 2
    assert not np.isnan(made).any()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "uniform:5:-2",
            "expected numbers that uniform can be made of, got 'uniform:5:-2': expected factor * n between",
        ),
        ("uniform:5:1e300", "expected factor * n between 0 and 2**63 - 1, got factor 1e+300 and n = 5"),
        (
            "uniform:5:9223372036854775807",
            "expected factor * n between 0 and 2**63 - 1, got factor 9223372036854775807",
        ),
        ("uniform:99999999999", "expected n between 0 and 536870912, got 99999999999"),
        ("uniform:5:inf", "expected a finite number where 'uniform:5:inf' has 'inf'"),
        ("uniform:5:" + "9" * 5000, "expected NAME:SIZE in at most 500 characters, got 5010: 'uniform:5:9999999"),
        ("uniform:" + "9" * 400, "expected n between 0 and 536870912, got 999"),
        ("uniform:5:seed=" + "9" * 400, "expected seed between 0 and 9223372036854775807, got 999"),
        ("constant:5:99999999999999999999", "expected a dtype that holds numbers from 99999999999999999999 to 99"),
        ("constant:5:nan", "expected a finite number where 'constant:5:nan' has 'nan'"),
        ("few_values:5:0", "expected values between 1 and 9223372036854775807, got 0"),
        ("few_values:5:99999999999999999999", "expected values between 1 and 9223372036854775807, got 9999999999"),
        ("few_values:5:2.5", "expected a whole number where 'few_values:5:2.5' has '2.5'"),
        ("blocks:5:0", "expected block between 1 and 9223372036854775807, got 0"),
        ("blocks:5:-1", "expected a whole number where 'blocks:5:-1' has '-1'"),
        ("low_rank:5:99999999999", "expected rank between 0 and 536870912, got 99999999999"),
        ("near_ties:5:-1", "expected spread between 0 and 1.79"),
        ("near_ties:5:" + "9" * 400, "expected spread between 0 and 1.79"),
    ],
)
def test_specs_that_are_refused(spec, message):
    with pytest.raises(InvalidInput) as error:
        costs.generate(spec)
    assert message in str(error.value)
    assert len(str(error.value)) < 2500


@pytest.mark.parametrize("spec", [None, 5, b"uniform:5", ["uniform:5"], HUGE], ids=lambda spec: type(spec).__name__)
def test_specs_that_are_no_text(spec):
    with pytest.raises(InvalidInput, match="expected a text of the form NAME:SIZE, got "):
        costs.generate(spec)


def test_an_unknown_device():
    with pytest.raises(InvalidInput, match="^device must be 'cpu', 'gpu' or None"):
        costs.generate("uniform:5", device="tpu")


NOT_NUMBERS = ["a", "3", None, 1j, [3], {}, np.arange(3)]
NOT_WHOLE = [*NOT_NUMBERS, 2.5, float("nan"), float("inf"), -1, HUGE]
NOT_FINITE = [*NOT_NUMBERS, float("nan"), float("inf"), -float("inf"), HUGE]
MAKERS = {name: make for name, (make, _) in costs.FAMILIES.items()}


def assert_refused(make, *arguments, **options):
    with pytest.raises(InvalidInput, match="^expected .*, got |^expected .* does not; give"):
        make(*arguments, **options)


@pytest.mark.parametrize("name", MAKERS)
def test_every_number_is_checked(name):
    make = MAKERS[name]
    for n in [*NOT_WHOLE, 2**40]:
        assert_refused(make, n)
    if name not in costs.SEEDLESS:
        for seed in [*NOT_WHOLE, 2**63]:
            assert_refused(make, 5, seed=seed)
    for dtype in ["a type", 3, object, complex, "U5", "M8[s]", "i4,i4", np.longdouble, bool]:
        assert_refused(make, 5, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [
        ("uniform", "factor", [*NOT_FINITE, -0.5, 2**63]),
        ("constant", "value", NOT_FINITE),
        ("few_values", "values", [*NOT_WHOLE, 0]),
        ("blocks", "block", [*NOT_WHOLE, 0]),
        ("low_rank", "rank", NOT_WHOLE),
        ("low_rank", "noise", [*NOT_FINITE, -1, 1e308]),
        ("near_ties", "spread", [*NOT_FINITE, -1]),
    ],
)
def test_every_parameter_is_checked(name, parameter, values):
    for value in values:
        assert_refused(MAKERS[name], 5, **{parameter: value})


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (costs.uniform, {"factor": 100, "dtype": np.int8}),
        (costs.uniform, {"factor": 100000, "dtype": np.float16}),
        (costs.machol_wien, {"dtype": np.int8}),
        (costs.few_values, {"values": 129, "dtype": np.int8}),
        (costs.constant, {"value": -1, "dtype": np.uint8}),
        (costs.constant, {"value": 2.5, "dtype": np.int32}),
        (costs.constant, {"value": 1e300, "dtype": np.float32}),
        (costs.near_ties, {"spread": 1e300, "dtype": np.float32}),
        (costs.low_rank, {"noise": 1e38, "dtype": np.float32}),
        (costs.uniform_floats, {"dtype": np.int32}),
        (costs.uniform_floats, {"dtype": np.float16}),
        (costs.geometric, {"dtype": np.int32}),
        (costs.low_rank, {"dtype": np.int32}),
        (costs.near_ties, {"dtype": np.int32}),
        (costs.blocks, {"dtype": np.int32}),
    ],
)
def test_types_that_do_not_hold_the_values(make, options):
    assert_refused(make, 12, **options)


@pytest.mark.parametrize("spec", ["generator:uniform:600:1000:seed=3", "uniform:600:0.5", "uniform_floats:600"])
def test_rows_that_are_made_apart(spec):
    whole = costs.generate_rows(spec, 0, 1)
    usual = costs.generate(spec)
    assert (whole.shape, whole.dtype) == (usual.shape, usual.dtype)
    assert usual.min() <= whole.mean() <= usual.max() and whole.max() == pytest.approx(usual.max(), rel=1e-2)
    for parts in (2, 5, 700):
        assert (np.concatenate([costs.generate_rows(spec, part, parts) for part in range(parts)]) == whole).all()
    assert (
        costs.generate_rows("uniform_floats:600:seed=1", 0, 1) != costs.generate_rows("uniform_floats:600", 0, 1)
    ).any()


@pytest.mark.parametrize("spec", ["geometric:30", "uniform:600:1e30", "uniform:-3", "uniform"])
def test_rows_that_cannot_be_made_apart(spec):
    with pytest.raises(InvalidInput):
        costs.generate_rows(spec, 0, 2)
