"""What all methods share: frozen objects whose fields are their options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, get_args, get_type_hints

from ..errors import InvalidInput

_type_hints: Callable[[type], dict[str, Any]] = cache(get_type_hints)


@dataclass(frozen=True)
class AnyMethod:
    def __post_init__(self) -> None:
        for option, hint in _type_hints(type(self)).items():
            allowed, given = get_args(hint), getattr(self, option)
            if given not in allowed:
                raise InvalidInput(
                    f"{type(self).__name__}({option}=...) must be one of {', '.join(map(repr, allowed))}; got {given!r}"
                )

    @cached_property
    def name(self) -> str:
        """The paper's name with all options, as in ``"apfb-gpubfs-wr-ct"``."""
        return "-".join([type(self).__name__.lower(), *(getattr(self, field.name) for field in fields(self))])


def is_auto(method: Any) -> bool:
    return isinstance(method, str) and method.lower() == "auto"
