"""What all problems share: they are checked once, and then do not change."""

from __future__ import annotations


class Frozen:
    """An object whose constructor sets its attributes, in `vars`, and nobody after it."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen; make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen; {name} cannot be deleted")
