"""Arrays of NumPy that pass for arrays of CuPy, and are as strict: array code for GPUs runs without a GPU.

Each array lies on the GPU that was current when it was made. As in CuPy, an operation on arrays of a GPU refuses arrays
of the host and of another GPU. `get` copies an array to the host.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np

_state = threading.local()


def current():
    return getattr(_state, "device", 0)


class ndarray(np.ndarray):
    __module__ = "cupy"

    def __array_finalize__(self, other):
        self._number = getattr(other, "_number", current())

    @property
    def device(self):
        return SimpleNamespace(id=self._number)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self):
        return np.array(self, copy=True, subok=False)

    def copy(self, order="C"):
        made = fake(np.array(self, copy=True, subok=False, order=order))
        made._number = current()
        return made

    def min(self, axis=None, out=None, keepdims=False):  # no `initial`
        return fake(np.asarray(self._own().min(axis=axis, keepdims=keepdims)))

    def max(self, axis=None, out=None, keepdims=False):
        return fake(np.asarray(self._own().max(axis=axis, keepdims=keepdims)))

    def _own(self):
        return self.view(np.ndarray)

    def __array__(self, *arguments, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __getitem__(self, key):
        return _on_gpu(np.ndarray.__getitem__, self, _checked(key))

    def __setitem__(self, key, value):
        np.ndarray.__setitem__(self._own(), _plain(_checked(key)), _plain(_checked(value)))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        out = options.get("out", ())
        _checked((inputs, out, options.get("where", True)))
        if out:
            options["out"] = tuple(_plain(each) for each in out)
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        return out[0] if out else fake(result)

    def __array_function__(self, function, types, arguments, options):
        _checked((arguments, options))
        return fake(function(*_plain(arguments), **_plain(options)))


def _method(name):
    def method(self, *arguments, **options):
        _checked((self, arguments, options))
        return fake(getattr(self._own(), name)(*_plain(arguments), **_plain(options)))

    return method


for _name in ("nonzero", "argmin", "argmax", "any", "all", "sum", "max", "cumsum", "clip", "astype"):
    setattr(ndarray, _name, _method(_name))


def _on_gpu(function, *arguments):
    array, key = arguments
    return fake(function(array._own(), _plain(key)))


def _checked(thing):
    """Refuses arrays of the host, except single numbers."""
    if isinstance(thing, tuple | list):
        for each in thing:
            _checked(each)
    elif isinstance(thing, dict):
        _checked(list(thing.values()))
    elif isinstance(thing, ndarray):
        if thing._number != current():
            raise ValueError(f"an array of GPU {thing._number} is used while GPU {current()} is current")
    elif isinstance(thing, np.ndarray):
        raise TypeError(f"Unsupported type {type(thing)}")
    return thing


def _plain(thing):
    if isinstance(thing, tuple | list):
        return type(thing)(_plain(each) for each in thing)
    if isinstance(thing, dict):
        return {name: _plain(each) for name, each in thing.items()}
    return thing._own() if isinstance(thing, ndarray) else thing


def fake(thing):
    """Arrays, and numbers, as arrays of a GPU: CuPy returns numbers as arrays."""
    if isinstance(thing, tuple | list):
        return type(thing)(fake(each) for each in thing)
    if isinstance(thing, np.ndarray | np.generic):
        made = np.ndarray.view(np.asarray(_plain(thing)), ndarray)
        made._number = current()
        return made
    return thing


class _Device:
    def __init__(self, number=None):
        self.id = current() if number is None else number

    def __enter__(self):
        self._before, _state.device = current(), self.id

    def __exit__(self, *error):
        _state.device = self._before


class _Event:
    done = True
    waits = 0

    def __init__(self, disable_timing=False):
        pass

    def record(self, stream):
        pass

    def synchronize(self):
        _Event.waits += 1


class Module:
    """The part of the module cupy that gmatch uses, with two GPUs."""

    def __init__(self):
        self.ndarray = ndarray
        self.cuda = SimpleNamespace(
            Device=_Device, runtime=SimpleNamespace(getDeviceCount=lambda: 2),
            get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None, ptr=0), Event=_Event,
            nccl=SimpleNamespace(available=False),
        )  # fmt: skip

    def __getattr__(self, name):
        function = getattr(np, name)

        def on_gpu(*arguments, **options):
            _checked((arguments, options))
            return fake(function(*_plain(arguments), **_plain(options)))

        def at(array, numbers, values):
            """As CuPy has it, for few types."""
            _checked((array, numbers, values))
            if array.dtype.name not in ("int32", "float32", "float64", "uint32", "uint64"):
                raise TypeError(f"cupy.{name}.at does not support {array.dtype}")
            array, numbers, values = _plain((array, numbers, values))
            function.at(array, numbers, values)
            if name in ("minimum", "maximum") and array.dtype == np.float64:  # CuPy 13's atomics call fminf and fmaxf
                array[numbers] = array[numbers].astype(np.float32)

        on_gpu.at = at
        return on_gpu

    def asarray(self, array):
        if isinstance(array, ndarray):
            return array if array._number == current() else array.copy()
        return fake(np.array(array))
