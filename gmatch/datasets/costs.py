"""Costs of assignment problems: seeded, and made on the device where they are used, without a copy."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from .. import cuda
from ..backends import backend_for
from ..errors import DataError, InvalidInput, did_you_mean, words_of
from .files import layout_of, read_matrix_market
from .patterns import checked_number, checked_size, checked_spec, shown
from .tables import Labels, Table, read_table

__all__ = [
    "blocks",
    "constant",
    "few_values",
    "generate",
    "geometric",
    "low_rank",
    "machol_wien",
    "near_ties",
    "read",
    "uniform",
    "uniform_floats",
]


# Entries of a type below 8 bytes are drawn in parts of 8 GB: numbers are drawn in 8 bytes, and a GPU must hold
# 100,000 x 100,000 int32 beside a part.
ENTRIES_AT_ONCE = 1 << 30
# Rows. NumPy can describe an array of this many rows and columns; no machine can hold it.
LARGEST_SIZE = 1 << 29
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
LARGEST_INTEGER = 2**63 - 1
LARGEST_FLOAT = sys.float_info.max
# No generator of random numbers draws a normal number farther from 0.
LARGEST_NORMAL = 16


def uniform(n: int, factor: float = 1, seed: int = 0, *, dtype: Any = None, device: str = "cpu") -> Any:
    """Integers drawn evenly from 0 to ``factor * n``: the problems of Date and Nagi (2016) and of Lopes et al.

    Parameters
    ----------
    n : int
        Rows and columns, of this and of all matrices here.
    factor : float
        More different values make a harder problem. ``factor * n`` must fit into int64.
    seed : int
        The same seed gives the same matrix on the same device.
    dtype : type of integers or floats, optional
        It must hold all values; floats may round them. int32, or int64 where values may be too large for it.
    device : {"cpu", "gpu"}

    Returns
    -------
    array, shape (n, n)
        NumPy or CuPy.

    Raises
    ------
    InvalidInput
        A parameter is no number, negative or too large, or `dtype` cannot hold the values. This holds for all
        matrices here. Only the value of `constant` may be negative.

    Examples
    --------
    >>> gmatch.datasets.costs.uniform(3, factor=10).dtype
    dtype('int32')
    """
    n = checked_size("n", n, LARGEST_SIZE)
    most = checked_number("factor", factor) * n
    if not 0 <= most <= LARGEST_INTEGER:
        raise InvalidInput(f"expected factor * n between 0 and 2**63 - 1, got factor {shown(factor)} and n = {n}")
    highest = int(most)
    dtype = _integer_type(dtype, 0, highest)
    xp, random = _namespace(device, seed)
    cost = xp.empty((n, n), dtype)
    step = max(1, ENTRIES_AT_ONCE // max(n, 1))
    for first in range(0, n, step):
        rows = cost[first : first + step]
        rows[...] = random.integers(0, highest + 1, rows.shape, dtype=np.int64)
    return cost


def uniform_floats(n: int, seed: int = 0, *, dtype: Any = np.float64, device: str = "cpu") -> Any:
    """Floats drawn evenly from 0 to 1, float32 or float64; see `uniform` for the parameters.

    Examples
    --------
    >>> gmatch.datasets.costs.uniform_floats(3).shape
    (3, 3)
    """
    n = checked_size("n", n, LARGEST_SIZE)
    dtype = _float_type(dtype, 1)
    if dtype not in (np.float32, np.float64):
        raise InvalidInput(f"expected dtype float32 or float64, got {dtype}")
    _, random = _namespace(device, seed)
    return random.random((n, n), dtype=dtype)


def geometric(n: int, seed: int = 0, *, squared: bool = False, dtype: Any = np.float64, device: str = "cpu") -> Any:
    """Distances, or squared distances, between two sets of n points drawn evenly from the unit square.

    Examples
    --------
    >>> gmatch.datasets.costs.geometric(3).shape
    (3, 3)
    """
    n = checked_size("n", n, LARGEST_SIZE)
    dtype = _float_type(dtype, 2)
    xp, random = _namespace(device, seed)
    here, there = random.random((2, n, 2))
    cost = sum((here[:, None, axis] - there[None, :, axis]) ** 2 for axis in range(2))
    return (cost if squared else xp.sqrt(cost)).astype(dtype, copy=False)


def low_rank(
    n: int, rank: int = 4, noise: float = 0.01, seed: int = 0, *, dtype: Any = np.float64, device: str = "cpu"
) -> Any:
    """A product of n x rank and rank x n normal matrices, and normal noise: rows want the same columns.

    Examples
    --------
    >>> gmatch.datasets.costs.low_rank(3, rank=1).shape
    (3, 3)
    """
    n, rank = checked_size("n", n, LARGEST_SIZE), checked_size("rank", rank, LARGEST_SIZE)
    noise = _width("noise", noise)
    dtype = _float_type(dtype, LARGEST_NORMAL**2 * rank + LARGEST_NORMAL * noise)
    _, random = _namespace(device, seed)
    left, right = random.standard_normal((n, rank)), random.standard_normal((rank, n))
    return (left @ right + noise * random.standard_normal((n, n))).astype(dtype, copy=False)


def machol_wien(n: int, *, dtype: Any = np.int64, device: str = "cpu") -> Any:
    """``(i + 1) * (j + 1)``: a hard case for methods that shift duals (Machol and Wien 1976).

    Examples
    --------
    >>> gmatch.datasets.costs.machol_wien(3).tolist()
    [[1, 2, 3], [2, 4, 6], [3, 6, 9]]
    """
    n = checked_size("n", n, LARGEST_SIZE)
    dtype = _integer_type(dtype, 0, n * n)
    xp, _ = _namespace(device, 0)
    numbers = xp.arange(1, n + 1, dtype=np.int64)
    return (numbers[:, None] * numbers[None, :]).astype(dtype, copy=False)


def constant(n: int, value: float = 7, *, dtype: Any = None, device: str = "cpu") -> Any:
    """All pairs cost the same: int32 or int64, whichever holds the value, or float64 if it has a fraction.

    Examples
    --------
    >>> gmatch.datasets.costs.constant(2).tolist()
    [[7, 7], [7, 7]]
    """
    n, value = checked_size("n", n, LARGEST_SIZE), checked_number("value", value)
    if not -LARGEST_FLOAT <= value <= LARGEST_FLOAT:
        raise InvalidInput(f"expected value to be a finite number, got {shown(value)}")
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_INTEGER:
        value = int(value)
    if isinstance(value, int):
        dtype = _integer_type(dtype, value, value)
    else:
        dtype = _float_type(np.float64 if dtype is None else dtype, abs(value))
    xp, _ = _namespace(device, 0)
    return xp.full((n, n), value, dtype)


def few_values(n: int, values: int = 3, seed: int = 0, *, dtype: Any = None, device: str = "cpu") -> Any:
    """Integers drawn evenly from a few, 0 to ``values - 1``: ties everywhere; see `uniform` for `dtype`.

    Examples
    --------
    >>> set(gmatch.datasets.costs.few_values(9).ravel().tolist()) <= {0, 1, 2}
    True
    """
    n, values = checked_size("n", n, LARGEST_SIZE), checked_size("values", values, LARGEST_INTEGER, smallest=1)
    dtype = _integer_type(dtype, 0, values - 1)
    _, random = _namespace(device, seed)
    return random.integers(0, values, (n, n), dtype=np.int64).astype(dtype, copy=False)


def blocks(n: int, block: int = 16, seed: int = 0, *, dtype: Any = np.float64, device: str = "cpu") -> Any:
    """Even floats within blocks along the diagonal. Outside the blocks seven of eight pairs are forbidden.

    The last block may be smaller. There always is an assignment.

    Examples
    --------
    >>> int(np.isinf(gmatch.datasets.costs.blocks(32)).sum()) > 0
    True
    """
    n, block = checked_size("n", n, LARGEST_SIZE), checked_size("block", block, LARGEST_INTEGER, smallest=1)
    dtype = _float_type(dtype, 1)
    xp, random = _namespace(device, seed)
    cost = random.random((n, n))
    number = xp.arange(n) // block
    forbidden = (number[:, None] != number[None, :]) & (random.random((n, n)) > 1 / 8)
    cost[forbidden] = xp.inf
    return cost.astype(dtype, copy=False)


def near_ties(n: int, spread: float = 1e-9, seed: int = 0, *, dtype: Any = np.float64, device: str = "cpu") -> Any:
    """Each cost is one of four values plus even noise of a width that floats just hold: nearly ties.

    Examples
    --------
    >>> gmatch.datasets.costs.near_ties(3).shape
    (3, 3)
    """
    n, spread = checked_size("n", n, LARGEST_SIZE), _width("spread", spread)
    dtype = _float_type(dtype, 4 + spread)
    _, random = _namespace(device, seed)
    return (random.integers(1, 5, (n, n)) + spread * random.random((n, n))).astype(dtype, copy=False)


def _namespace(device: str, seed: int) -> tuple[Any, Any]:
    """NumPy or CuPy, and its random numbers."""
    xp = np if backend_for(None, device).NAME == "cpu" else cuda.cupy()
    return xp, xp.random.default_rng(checked_size("seed", seed, LARGEST_INTEGER))


def _integer_type(dtype: Any, lowest: int, highest: int) -> np.dtype[Any]:
    """The type asked for, or the smaller of int32 and int64 that holds the integers from `lowest` to `highest`."""
    if dtype is None:
        dtype = np.int32 if -(2**31) <= lowest and highest < 2**31 else np.int64
    return _checked_type(dtype, "iuf", lowest, highest)


def _float_type(dtype: Any, largest: float) -> np.dtype[Any]:
    return _checked_type(dtype, "f", -largest, largest)


def _checked_type(dtype: Any, kinds: str, lowest: float, highest: float) -> np.dtype[Any]:
    try:
        checked: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        raise InvalidInput(f"expected a type of numbers as dtype, got {shown(dtype)}") from None
    if checked.kind not in kinds or checked.itemsize > 8:
        expected = "floats" if kinds == "f" else "integers or floats"
        raise InvalidInput(f"expected a type of {expected} of at most 64 bits as dtype, got {checked}")
    limits = np.finfo(checked) if checked.kind == "f" else np.iinfo(checked)
    if not int(limits.min) <= lowest <= highest <= int(limits.max):
        raise InvalidInput(
            f"expected a dtype that holds numbers from {shown(lowest)} to {shown(highest)}, {checked} does not; "
            "give another dtype, or smaller numbers"
        )
    return checked


def _width(name: str, value: float) -> float:
    number = checked_number(name, value)
    if not 0 <= number <= LARGEST_FLOAT:
        raise InvalidInput(f"expected {name} between 0 and {LARGEST_FLOAT}, got {shown(number)}")
    return float(number)


# By name: the function, and the parameter that may follow the size.
FAMILIES: dict[str, tuple[Callable[..., Any], str | None]] = {
    "uniform": (uniform, "factor"),
    "uniform_floats": (uniform_floats, None),
    "geometric": (geometric, None),
    "low_rank": (low_rank, "rank"),
    "machol_wien": (machol_wien, None),
    "constant": (constant, "value"),
    "few_values": (few_values, "values"),
    "near_ties": (near_ties, "spread"),
    "blocks": (blocks, "block"),
}
SEEDLESS = ("machol_wien", "constant")


# Rows that are drawn together, from a seed of their own, where each process makes some rows of a matrix.
ROWS_TOGETHER = 256


def generate_rows(spec: str, part: int, parts: int) -> Any:
    """One of `parts` parts of consecutive rows of the costs that a text such as ``"uniform:4096:10"`` stands for.

    The matrix does not depend on the number of parts. It differs from the matrix of `generate`, in which each row
    depends on the rows before.

    Raises
    ------
    InvalidInput
        As of `generate`; or if the rows of such costs cannot be made apart from each other.
    """
    make, size, options = _parsed(spec)
    if make not in (uniform, uniform_floats):
        raise InvalidInput(
            f"expected generator:uniform or generator:uniform_floats where ranks make their rows each; got {spec!r}; "
            "write the matrix to a .npy file, of which each rank maps its rows"
        )
    size = checked_size("n", size, LARGEST_SIZE)
    most = options.get("factor", 1) * size
    if not 0 <= most < LARGEST_INTEGER:
        raise InvalidInput(f"expected factor * n between 0 and 2**63 - 2, got {spec!r}")
    highest, seed = int(most), checked_size("seed", options.get("seed", 0), LARGEST_INTEGER)
    first, end = (number * size // parts for number in (part, part + 1))
    rows = np.empty((end - first, size), np.float64 if make is uniform_floats else _integer_type(None, 0, highest))
    for begin in range(first // ROWS_TOGETHER * ROWS_TOGETHER, end, ROWS_TOGETHER):
        random, shape = np.random.default_rng((seed, begin)), (min(ROWS_TOGETHER, size - begin), size)
        drawn = random.random(shape) if make is uniform_floats else random.integers(0, highest + 1, shape, rows.dtype)
        low, high = max(first, begin), min(end, begin + len(drawn))
        rows[low - first : high - first] = drawn[low - begin : high - begin]
    return rows


def generate(spec: str, device: str = "cpu") -> Any:
    """The costs that ``[generator:]NAME:SIZE[:PARAMETER][:seed=S]`` stands for, as in ``"uniform:4096:10"``.

    Raises
    ------
    InvalidInput
        If there is no such generator, or a part is not a number it takes.

    Examples
    --------
    >>> gmatch.datasets.costs.generate("uniform:4:10").shape
    (4, 4)
    """
    make, size, options = _parsed(spec)
    backend_for(None, device)  # first: errors of the generator below are taken for wrong numbers
    try:
        return make(size, device=device, **options)
    except InvalidInput as error:
        raise InvalidInput(f"expected numbers that {make.__name__} can be made of, got {spec!r}: {error}") from None


def _parsed(spec: str) -> tuple[Callable[..., Any], int, dict[str, Any]]:
    """The function that makes such costs, their size, and its options."""
    name, *parts = checked_spec(spec).removeprefix("generator:").split(":")
    if name not in FAMILIES:
        raise InvalidInput(
            f"unknown generator {name!r}; expected one of {', '.join(FAMILIES)}{did_you_mean(name, FAMILIES)}"
        )
    make, parameter = FAMILIES[name]
    options: dict[str, Any] = {}
    if parts and parts[-1].startswith("seed=") and name not in SEEDLESS:
        options["seed"] = _whole(parts.pop().removeprefix("seed="), spec)
    if not 1 <= len(parts) <= (1 if parameter is None else 2):
        rest = "" if parameter is None else f"[:{parameter.upper()}]"
        raise InvalidInput(f"expected {name}:SIZE{rest}{'' if name in SEEDLESS else '[:seed=S]'}; got {spec!r}")
    if len(parts) == 2 and parameter is not None:
        whole = parameter in ("rank", "values", "block")
        options[parameter] = _whole(parts[1], spec) if whole else _number(parts[1], spec)
    return make, _whole(parts[0], spec), options


def _read_numpy(source: Path | io.BytesIO, array: str = "") -> Any:
    loaded = np.load(source, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        if array:
            if array not in loaded.files:
                raise ValueError(
                    f"it has no array {array!r}, but {', '.join(loaded.files)}{did_you_mean(array, loaded.files)}"
                )
            return loaded[array]
        if "format" in loaded.files:
            return scipy.sparse.load_npz(source)
        if len(loaded.files) != 1:
            raise ValueError(
                f"it has {len(loaded.files)} arrays, not one: {', '.join(loaded.files)}; name one of them after a colon"
            )
        return loaded[loaded.files[0]]


def _without_advice(words: str) -> str:
    """NumPy's message without its advice, which is how to load a file that may run code."""
    return "it holds no numbers, or is damaged" if "pickle" in words else words


def _whole(text: str, spec: str) -> int:
    if not text.isdecimal():
        raise InvalidInput(f"expected a whole number where {spec!r} has {text!r}")
    return int(text)


def _number(text: str, spec: str) -> float:
    with suppress(ValueError):
        return int(text)  # floats would round large ones
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    raise InvalidInput(f"expected a finite number where {spec!r} has {text!r}")


def read(path: str | os.PathLike[str], *, labels: Labels = "auto", forbid_nan: bool = False) -> Any:
    """Read a matrix of costs: ``.npy``, ``.npz``, ``.mtx`` or ``.mtx.gz``; else text, such as ``.csv`` or ``.txt``.

    A ``.npz`` file gives its only array, or the sparse matrix that `scipy.sparse.save_npz` wrote. Text, plain or
    gzipped, gives int64 if all numbers are whole, else float64; names of rows and columns are left out. A ``.mtx`` file
    in coordinate format gives a sparse array if it does not store all pairs: the missing pairs are forbidden.

    Parameters
    ----------
    path : str or path
    labels : {"auto", "none", "rows", "columns", "both"}
        What has names in text: rows in the first column, columns in the first line.
    forbid_nan : bool
        Whether text may have empty cells, NaN, NA and null; they become NaN.

    Raises
    ------
    DataError
        The file is missing, unreadable, or holds no matrix of numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savetxt(f"{folder}/costs.csv", [[4, 1, 3], [2, 0, 5]], fmt="%d", delimiter=",")
    ...     gmatch.datasets.costs.read(f"{folder}/costs.csv").tolist()
    [[4, 1, 3], [2, 0, 5]]
    """
    return read_labelled(path, labels, forbid_nan).costs


def read_labelled(
    path: str | os.PathLike[str],
    labels: Labels = "auto",
    forbid_nan: bool = False,
    content: bytes | None = None,
    array: str = "",
) -> Table:
    """As `read`, with the names of rows and columns that text may have; see `read_table`.

    `content` is the content of the file, if it is not to be opened. `array` names one of several arrays in a ``.npz``.
    """
    name = str(path).lower()
    if content is None and name.endswith((".mtx", ".mtx.gz")):
        stored = read_matrix_market(path)
        is_dense = layout_of(Path(path)) == "array"  # whose zeros are costs
        return Table(stored.toarray() if is_dense or stored.nnz == math.prod(stored.shape) else stored)
    try:
        if content is None and name.endswith((".npy", ".npz")):
            return Table(_read_numpy(Path(path), array))
        content = Path(path).read_bytes() if content is None else content
        if content.startswith(b"\x93NUMPY") and not name.endswith(TEXT_ENDINGS):
            return Table(_read_numpy(io.BytesIO(content)))
    except Exception as error:  # NumPy and zipfile raise a dozen kinds of errors
        raise DataError(
            f"expected a matrix of costs in {path}: {_without_advice(words_of(error))}; write it with numpy.save, "
            "or as text"
        ) from error
    return read_table(content, str(path), labels, forbid_nan)
