"""What holds true counts refuses to leave: it cannot be printed, pickled, copied or sent."""

from __future__ import annotations

from typing import NoReturn


class Confidential:
    """The parent of values that hold true counts. A child may tell its shape in `__repr__`, and never a count."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, confidential>"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} is confidential: it cannot be pickled, copied or sent anywhere"
        )

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is confidential: it has no state to give away")
