"""Results as tensors of torch or arrays of JAX, if the costs or the graph are such.

The arrays of a result become tensors when they are asked for. If the costs need a gradient, the costs of pairs are
taken from the costs themselves. Then the cost of an assignment has a gradient, too: 1 at its pairs and 0 elsewhere.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from . import cuda
from .arrays import as_dense_array, device_of
from .errors import InvalidInput
from .foreign import as_sparse, gives_back, library_of
from .result import Assignment, AssignmentBatch, Matching
from .types import number_type

INT64 = np.dtype(np.int64)
Result = Assignment | AssignmentBatch | Matching
INDICES, OTHERS = frozenset(("row_match", "col_match")), frozenset(("u", "v", "reached_columns"))
ARRAYS = INDICES | OTHERS | {"pair_costs"}
# Fields that have a default, and are no arrays of a library.
PLAIN = "maximize", "cost_limit", "exact", "bound", "forbid_nan", "pair_price", "row_nodes", "col_nodes"
PLAIN_OF_BATCH = "maximize", "cost_limit", "forbid_nan", "places"
# Fields of each problem of a batch that are False by default.
PLAIN_OF_EACH = "maximize", "forbid_nan"
NOTHING: dict[int, Any] = {}
# For each type of tensor: two functions by which the short way makes results of tensors on the host, and a type that
# NumPy lacks. See solve_tensor of csrc/bindings/small.cpp. The dictionary is empty until the first tensor comes, since
# gmatch does not import torch.
LIBRARIES: dict[type, tuple[Any, Any, Any]] = {}


class Matrices(list[Any]):
    """A sequence of matrices that is known to be a batch."""


def are_whole(matrices: Any) -> bool:
    """Whether no tensor is a block that was split off a wider one, as the costs of images with few targets are."""
    return all(not hasattr(matrix, "is_contiguous") or matrix.is_contiguous() for matrix in matrices)


def comes_back(given: Any) -> bool:
    """Whether the answer for costs or a graph has arrays of another library than NumPy and CuPy."""
    if isinstance(given, list | tuple):
        return len(given) > 0 and gives_back(given[0])
    return gives_back(given)


def as_arrays(given: Any) -> Any:
    """Costs or a graph as arrays of NumPy or CuPy, dense or sparse, in the same memory if possible."""
    if isinstance(given, list | tuple):
        _refuse_others(given)
        return Matrices(_shared(matrix, as_dense_array) for matrix in _of_32_bits(given))
    if getattr(given, "ndim", 0) == 3:
        (given,) = _of_32_bits([given])
    return _shared(given, _dense_or_sparse)


def _refuse_others(matrices: Any) -> None:
    """Raises `InvalidInput` if a sequence that begins with a tensor has matrices of another library, too."""
    if len(set(map(type, matrices))) == 1:
        return
    library = library_of(matrices[0])
    for number, matrix in enumerate(matrices):
        if library_of(matrix) != library:
            raise InvalidInput(
                f"expected matrices of {library}, as the first one is; number {number} is {type(matrix).__name__}; "
                "make all of one library"
            )


def _shared(tensor: Any, otherwise: Callable[[Any], Any]) -> Any:
    if getattr(tensor, "is_cuda", False):
        array = _on_gpu(tensor)
        return otherwise(tensor) if array is None else array
    try:
        return (tensor.detach() if tensor.requires_grad else tensor).numpy()  # the way of most tensors
    except (AttributeError, TypeError, RuntimeError):  # JAX; or on a GPU, sparse, or of a type that NumPy lacks
        return otherwise(tensor)


# Types of tensors on a GPU that arrays of CuPy have, too.
TYPES_ON_GPU = {f"torch.{name}": np.dtype(name) for name in ("float32", "float64", "float16", "int32", "int64")}


def _on_gpu(tensor: Any) -> Any:
    """The array in the memory of a tensor, made without the protocols of other libraries; None if that is not safe."""
    torch = sys.modules["torch"]
    dtype = TYPES_ON_GPU.get(str(tensor.dtype))
    if dtype is None or type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
        return None
    if not tensor.numel():
        return None
    tensor = tensor.resolve_neg()
    strides = tuple(stride * dtype.itemsize for stride in tensor.stride())
    return cuda.array_in(tensor, tensor.data_ptr(), tensor.device.index, (tuple(tensor.shape), dtype, strides))


def _of_32_bits(matrices: Any) -> Any:
    """Tensors of floats of 16 bits widened: no program for batches reads them, and torch is faster than NumPy."""
    first = matrices[0]
    if first.dtype.itemsize != 2 or library_of(first) != "torch" or not first.is_floating_point():
        return matrices
    return [matrix.float() for matrix in matrices]


def _dense_or_sparse(given: Any) -> Any:
    sparse = as_sparse(given)
    return as_dense_array(given) if sparse is given else sparse


def in_its_library(given: Any, solve: Callable[..., Any], **options: Any) -> Any:
    """The answer of a solver for costs or a graph, in their library and on their device."""
    like = given[0] if isinstance(given, list | tuple) else given
    _refuse_capture(like)
    library = _Torch.of(like) if library_of(like) == "torch" else _JAX(like)
    with _on_its_stream(like):
        found = solve(as_arrays(given), **options)
        if isinstance(found, AssignmentBatch):
            return _batch(found, library, given)
        return _one(found, library, library.pair_costs(given, found) if isinstance(found, Assignment) else None)


def mates_of(cost: Any, solve: Callable[..., Any], **options: Any) -> tuple[Any, Any]:
    """The mates of both sides, as tensors in one piece, for costs that are a single tensor of torch."""
    _refuse_capture(cost)
    with _on_its_stream(cost):
        found, library = solve(as_arrays(cost), **options), _Torch.of(cost)
        return library.indices(found.row_match).contiguous(), library.indices(found.col_match).contiguous()


def _on_its_stream(tensor: Any) -> AbstractContextManager[None]:
    """A context in which CuPy works on the current stream of torch."""
    if not getattr(tensor, "is_cuda", False):
        return nullcontext()
    return cuda.on_stream(tensor.device.index, _stream_of_torch(tensor.device.index))


def _stream_of_torch(device: int) -> int:
    """The address of the current stream of torch on a GPU. Most versions tell it without an object for the stream."""
    torch = sys.modules["torch"]
    address_of = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    address: int = torch.cuda.current_stream(device).cuda_stream if address_of is None else address_of(device)
    return address


def _refuse_capture(tensor: Any) -> None:
    """Raises `InvalidInput` while the work of a GPU is only recorded: the work of a search depends on the costs."""
    if getattr(tensor, "is_cuda", False) and sys.modules["torch"].cuda.is_current_stream_capturing():
        raise InvalidInput(
            "a CUDA graph is being captured, and no assignment can be part of one: how a search goes on depends on the "
            "costs; call gmatch before or after the graph, or torch.ops.gmatch.lap of gmatch.torch in a function for "
            "torch.compile, which leaves it out of its graphs"
        )


def with_arrays(result: Result) -> Result:
    """A result of tensors with arrays of NumPy or CuPy instead. Any other result as it is."""
    if not gives_back(result.row_match):
        return result
    if isinstance(result, AssignmentBatch):
        result._read()  # it may change the arrays
    arrays = {name: as_dense_array(getattr(result, name), name) for name in ARRAYS if hasattr(result, name)}
    if isinstance(result, Matching):
        return replace(result, **arrays)
    arrays["pair_costs"] = _as_numbers(arrays["pair_costs"])
    if isinstance(result, AssignmentBatch):
        return replace(result, **arrays, covers={k: _as_arrays_of(cover) for k, cover in result.covers.items()})
    return replace(result, **arrays, cover=result.cover and _as_arrays_of(result.cover))


def _as_numbers(pair_costs: Any) -> Any:
    """What pairs cost in the type of checked costs. Numbers that int64 does not hold stay as they are."""
    dtype = pair_costs.dtype
    if dtype.kind == "b":
        return pair_costs.astype(np.int32)
    if dtype.kind != "u" or dtype.itemsize < 4:
        return pair_costs.astype(number_type(dtype), copy=False)
    numbers = pair_costs.astype(np.int64)
    return numbers if bool((numbers >= 0).all()) else pair_costs


def _as_arrays_of(cover: tuple[Any, Any]) -> tuple[Any, Any]:
    return as_dense_array(cover[0], "cover"), as_dense_array(cover[1], "cover")


class _Torch:
    """Makes tensors of torch."""

    def __init__(self, dtype: Any, device: int | None = None) -> None:
        self.torch, self.dtype, self.device = sys.modules["torch"], dtype, device
        self.from_numpy = self.torch.from_numpy
        self.stream = None if device is None else _stream_of_torch(device)

    @classmethod
    def of(cls, like: Any) -> _Torch:
        """For the type and the device of a tensor."""
        torch = sys.modules["torch"]
        LIBRARIES.setdefault(torch.Tensor, (torch.from_numpy, _field_of_small, torch.bfloat16))
        return cls(like.dtype, like.device.index if getattr(like, "is_cuda", False) else None)

    def array(self, array: Any, is_ordered: bool = False) -> Any:
        """A tensor on the same device, mostly in the same memory. `is_ordered`: this call's stream wrote it."""
        if isinstance(array, np.ndarray):
            return self.from_numpy(array)
        if array.dtype == np.bool_:  # not all versions exchange bool
            return self.torch.from_dlpack(array.view(np.uint8)).bool()
        # Without a handshake of streams if this is the stream that wrote it: the handshake takes longer than the rest.
        knows_stream = is_ordered and self.device is not None and _stream_of_torch(self.device) == self.stream
        return self.torch.from_dlpack(array.__dlpack__(stream=-1) if knows_stream else array)

    def indices(self, array: Any, is_ordered: bool = False) -> Any:
        """Indices of 64 bits, as torch wants them."""
        if type(array) is np.ndarray:  # NumPy is faster than torch here
            return self.from_numpy(array if array.dtype is INT64 else array.astype(INT64))
        return self.array(array, is_ordered).long()

    def split(self, tensor: Any, sizes: list[int]) -> Any:
        """The parts of a tensor of these sizes, one after the other."""
        return tensor.split_with_sizes(sizes)

    def costs(self, array: Any) -> Any:
        """What pairs cost, in the type of the costs."""
        return self.array(array).to(self.dtype)

    def pair_costs(self, given: Any, found: Assignment) -> Any:
        """What the pairs of an assignment cost, with its gradient; None if the costs have none."""
        if isinstance(given, list | tuple):  # of rows
            given = self.torch.stack(tuple(given))
        if not given.requires_grad:
            return None
        rows, columns = map(self.indices, found)
        if given.layout == self.torch.strided:
            return given[rows, columns]
        stored = given.to_sparse_coo().coalesce()
        keys = stored.indices()[0] * given.shape[1] + stored.indices()[1]
        return stored.values()[self.torch.searchsorted(keys, rows * given.shape[1] + columns)]

    def pair_costs_of_batch(self, given: Any, found: AssignmentBatch) -> Any:
        """The pair costs of all problems with their gradients, a row each, padded by zeros."""
        many = isinstance(given, list | tuple)
        if not any(matrix.requires_grad for matrix in (given if many else [given])):
            return None
        match = self.indices(found.row_match)
        if not many:
            return self._with_nan(self._of_rows(given, match), found)
        width, pad = match.shape[1], self.torch.nn.functional.pad
        parts = (
            self._of_rows(matrix[None], mates[None, : len(matrix)]) for matrix, mates in zip(given, match, strict=True)
        )
        return self._with_nan(self.torch.cat([pad(part, (0, width - part.shape[1])) for part in parts]), found)

    def _with_nan(self, pair_costs: Any, found: AssignmentBatch) -> Any:
        """The costs of pairs, with NaN for each problem that a GPU has left to the host."""
        if device_of(found.pair_costs) == "cpu":
            return pair_costs
        return pair_costs.masked_fill(self.array(found.pair_costs).isnan(), math.nan)

    def _of_rows(self, costs: Any, match: Any) -> Any:
        """The entry of each row of each problem in the column of its mate; 0 for free rows."""
        if not costs.shape[2]:
            return costs.sum(dim=2)
        entries = costs.gather(2, match.clamp(min=0)[:, :, None])[:, :, 0]
        return entries.masked_fill(match < 0, 0)


class _JAX:
    """Makes arrays of JAX. Its transformations do not pass through a solver: costs that are traced are refused."""

    def __init__(self, like: Any) -> None:
        self.jax, self.dtype, self.device = sys.modules["jax"], like.dtype, like.device

    def array(self, array: Any, is_ordered: bool = False) -> Any:
        """An array on the same device. Duals of 64 bits stay as they are if JAX would round them to 32."""
        if array.dtype.itemsize == 8 and not self.jax.config.jax_enable_x64:
            return array
        return self.jax.device_put(array, self.device)

    def indices(self, array: Any, is_ordered: bool = False) -> Any:
        """Indices of 32 bits, or of 64 if JAX is set to 64."""
        wide = self.jax.config.jax_enable_x64
        return self.jax.device_put(array.astype(np.int64 if wide else np.int32), self.device)

    def split(self, array: Any, sizes: list[int]) -> Any:
        return [array[start:end] for start, end in pairwise([0, *accumulate(sizes)])]

    def costs(self, array: Any) -> Any:
        return self.jax.device_put(array.astype(self.dtype), self.device)

    def pair_costs(self, given: Any, found: Assignment) -> Any:
        return None

    def pair_costs_of_batch(self, given: Any, found: AssignmentBatch) -> Any:
        return None


_Library = _Torch | _JAX


class _Result:
    """The source of the fields and the pairs of a result. Unpacked again, the pairs are in the same memory."""

    made: tuple[Any, Any] | None = None

    def __init__(self, inner: Any, library: _Library) -> None:
        self.inner, self.library = inner, library
        self.ordered = ARRAYS & vars(inner).keys()  # what is made later may be made on another stream

    def field(self, name: str) -> Any:
        """A field that has no default."""
        value, is_ordered = getattr(self.inner, name), name in self.ordered
        if name in INDICES:
            return self.library.indices(value, is_ordered)
        if name == "pair_costs":
            return self.library.costs(value)
        return self.library.array(value, is_ordered) if name in OTHERS else value

    def pairs(self) -> tuple[Any, Any]:
        if self.made is None:
            rows, columns = self.inner
            self.made = self.library.indices(rows), self.library.indices(columns)
        return self.made


class _Problems(_Result):
    """The assignments of a batch, each made when it is asked for."""

    def __init__(self, inner: AssignmentBatch, library: _Library, pair_costs: Any) -> None:
        super().__init__(inner, library)
        given, later = vars(inner), inner._later  # a field in neither of them is made when it is asked for
        self.pair_costs = pair_costs
        items: Any = None if later is None else later[2][0]
        is_small = hasattr(items, "memory")
        # The items of small problems of torch, whose pairs are tensors in the memory of the answer.
        self.small = items if is_small and isinstance(library, _Torch) else None
        self.covers = items.covers if is_small else given.get("covers", NOTHING)
        self.plain = {name: value for name in PLAIN_OF_EACH if (value := given.get(name))}
        if (limit := given.get("cost_limit")) is not None:
            self.plain["cost_limit"] = limit

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, number: int) -> Assignment:
        one = Assignment.later(_field_in_batch, self.pairs_of(number), (self, number))
        if self.plain:
            vars(one).update(self.plain)
        if number in self.covers:
            _move_cover(self.inner[number], self.library, vars(one))
        if self.pair_costs is not None:
            rows = (self.inner.row_match[number] >= 0).nonzero()[0]
            vars(one)["pair_costs"] = self.pair_costs[number][self.library.indices(rows)]
        return one

    def __iter__(self) -> Iterator[Assignment]:
        if self.small is None or self.plain or self.covers or self.pair_costs is not None:
            return map(self.__getitem__, range(len(self)))
        return iter(self.small.as_tensors(_field_in_batch, sys.modules["torch"].from_numpy, self))

    def pairs_of(self, number: int) -> tuple[Any, Any]:
        """The rows and the columns of the pairs of a problem."""
        if self.small is None:
            return self.ends[number]
        rows, columns = self.small.pairs_of(number)
        return self.library.indices(rows), self.library.indices(columns)

    def read(self) -> None:
        """Waits for a GPU, and lets the host solve the problems that the GPU has left."""
        self.inner._read()

    @cached_property
    def ends(self) -> list[tuple[Any, Any]]:
        """Rows and columns of the pairs of each problem. All are moved together."""
        rows, columns, sizes = self.inner._all_pairs
        sides = (self.library.split(self.library.indices(side), sizes) for side in (rows, columns))
        return list(zip(*sides, strict=True))


def _field_in_batch(name: str, problems: _Problems, number: int) -> Any:
    return _Result(problems.inner[number], problems.library).field(name)


def _field_of_small(name: str, inner: Assignment, dtype: Any) -> Any:
    return _Result(inner, _Torch(dtype)).field(name)


def _one(inner: Any, library: _Library, pair_costs: Any) -> Any:
    result = type(inner).later(_field, _pairs, (_Result(inner, library),))
    given = vars(inner)
    vars(result).update({name: given[name] for name in PLAIN if name in given})
    if given.get("cover") is not None:
        _move_cover(inner, library, vars(result))
    if pair_costs is not None:
        vars(result).update(pair_costs=pair_costs)
    return result


def _move_cover(inner: Any, library: _Library, fields: dict[str, Any]) -> None:
    cover, witness = (tuple(map(library.indices, sides)) for sides in (inner.cover, inner.witness))
    fields.update(cover=cover, witness=witness)


class _Watcher:
    """Makes tensors of a result again after the host has solved the problems that a GPU left."""

    def __init__(self, result: AssignmentBatch, given: Any) -> None:
        self.result = weakref.ref(result)  # the result holds this watcher
        self.given, self.version = given, _version_of(given)

    def check_costs(self) -> None:
        """Raises `InvalidInput` if the costs have changed since the GPU was asked."""
        if _version_of(self.given) != self.version:
            raise InvalidInput(
                "cost was changed in place before the host looked at the problems of the batch that the GPU left to "
                "it; read batch.status before you change the costs, or give a copy"
            )

    def renew(self) -> None:
        """Lets fields of the result be made again. Tensors that were taken from it stay as they are."""
        result = self.result()
        if result is None:
            return
        _, _, (problems,) = result._later
        for name in (*ARRAYS, "cost", "size"):
            vars(result).pop(name, None)
        problems.pair_costs = problems.library.pair_costs_of_batch(self.given, problems.inner)
        if problems.pair_costs is not None:
            vars(result).update(pair_costs=problems.pair_costs)


def _version_of(given: Any) -> int:
    """How often tensors were changed in place. A list was copied: only tensors with a gradient are asked again."""
    if isinstance(given, list | tuple):
        return sum(each._version for each in given if getattr(each, "requires_grad", False) and not each.is_inference())
    return -1 if given.is_inference() else given._version


def _batch(inner: AssignmentBatch, library: _Library, given: Any) -> AssignmentBatch:
    if isinstance(library, _JAX):
        inner._read()  # JAX knows nothing of CuPy's streams
    pair_costs = library.pair_costs_of_batch(given, inner)
    problems = _Problems(inner, library, pair_costs)
    result = AssignmentBatch.later(_field, None, (problems,))
    known = vars(inner)
    vars(result).update({name: known[name] for name in PLAIN_OF_BATCH if name in known})
    if problems.covers:
        covers = {number: tuple(map(library.indices, cover)) for number, cover in problems.covers.items()}
        vars(result).update(covers=covers)
    if pair_costs is not None:
        vars(result).update(pair_costs=pair_costs)
    if isinstance(library, _Torch) and inner._later is not None and hasattr(watched := inner._later[2][0], "watchers"):
        watched.watchers.append(_Watcher(result, given))
    return result


def _field(name: str, result: _Result) -> Any:
    return result.field(name)


def _pairs(result: _Result) -> tuple[Any, Any]:
    return result.pairs()
