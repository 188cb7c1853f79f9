"""What all methods share: frozen objects whose fields are their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import product
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints

from ..errors import InvalidInput

_type_hints: Callable[[type], dict[str, Any]] = cache(get_type_hints)


# What is solved, in the words of an error.
KINDS = {
    "graph": "graphs", "dense": "dense costs", "narrow": "dense costs of 8 or 16 bits as they lie",
    "sparse": "sparse costs", "batch": "batches",
}  # fmt: skip
WAYS_OUT = {"narrow": ["cost.astype(np.float32), or np.int32 for integers"]}
DEVICES = {"cpu": "the CPU", "gpu": "a GPU"}


@dataclass(frozen=True)
class AnyMethod:
    solves: ClassVar[dict[str, frozenset[str]]]
    """By the device: which of KINDS."""

    def __post_init__(self) -> None:
        for field in fields(self):
            option, allowed = field.name, get_args(_type_hints(type(self))[field.name])
            given = getattr(self, option)
            if given not in allowed:
                raise InvalidInput(
                    f"{type(self).__name__}({option}=...) must be one of {', '.join(map(repr, allowed))}; got {given!r}"
                )

    @cached_property
    def name(self) -> str:
        """The paper's name with all options, as in ``"apfb-gpubfs-wr-ct"``."""
        return "-".join([type(self).__name__.lower(), *(getattr(self, field.name) for field in fields(self))])


def as_called(kind: type[AnyMethod]) -> str:
    """How a user makes a method of this kind, for the words of an error."""
    return f"gmatch.{kind.__name__}({'...' if fields(kind) else ''})"


Kind = TypeVar("Kind", bound=AnyMethod)


def with_all_options(kind: type[Kind]) -> list[Kind]:
    """The method with every choice of its options."""
    choices = (get_args(_type_hints(kind)[field.name]) for field in fields(kind))
    return [kind(*options) for options in product(*choices)]


def is_auto(method: Any) -> bool:
    return isinstance(method, str) and method.lower() == "auto"


def does_not_solve(method: AnyMethod, device: str, kind: str, others: Mapping[str, AnyMethod]) -> InvalidInput:
    """The error if a method does not solve a kind of problem on the device. It names methods that do."""
    able = [name for name, other in others.items() if "-" not in name and kind in other.solves.get(device, ())]
    elsewhere = [f"device={place!r}" for place, kinds in method.solves.items() if place != device and kind in kinds]
    advice = " or ".join([", ".join(map(repr, ("auto", *able))), *elsewhere, *WAYS_OUT.get(kind, ())])
    return InvalidInput(f"method {method.name!r} solves no {KINDS[kind]} on {DEVICES[device]}; use {advice}")
