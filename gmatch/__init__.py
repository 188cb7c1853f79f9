"""gmatch: exact bipartite matching with proofs, on GPUs and CPUs."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

try:
    from . import _native as _native
except ImportError as _error:
    raise ImportError(
        f"gmatch was found in {__path__[0]}, where its compiled part cannot be loaded ({_error}). If that is a clone "
        "of the repository, run `pip install -e .` in it to compile; or start Python in another folder, where the "
        "installed gmatch is found. Otherwise install gmatch again, for this Python."
    ) from _error

if TYPE_CHECKING:
    from .public import *  # noqa: F403
    from .public import __all__ as __all__

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """A module when it is first used, or a public name. The first public name imports all of them."""
    if find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    public = import_module(f"{__name__}.public")
    for each in vars(public).keys() & {"__all__", *public.__all__, *public.MOVED}:
        globals().setdefault(each, getattr(public, each))  # a name that was replaced stays as it is
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module(f"{__name__}.public").__all__})
