"""Memory that a server does not need: libraries take it for what a server never does.

    pandas     Arrow imports it to ask whether a list is a frame of it: 60 MB a process. It is told that there is none
    arenas     the C library keeps free memory apart for each of up to 8 threads a core; two keep as much as is used
    files      what is read of a library to load it or to compile stays with the process: the compiler's 65 MB are not
               looked at again, and a process that watches others looks at hardly anything
    blocks     arrays of a megabyte and more go back to the system when they are freed; by itself the C library learns
               from each to keep the next

Nothing that is answered depends on any of them.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

#: `M_ARENA_MAX`, `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD` of the C library, and what they are set to.
_CHOICES = {-8: 2, -3: 1_000_000, -1: 4_000_000}

#: `MADV_PAGEOUT`, since Linux 5.4; an older one refuses it.
_PAGE_OUT = 21
#: Where the compiler is.
COMPILER = "libllvmlite"


def take_less_memory() -> None:
    """Let this process take less."""
    arrow_without_pandas()
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):  # another C library has no such setting
            library = ctypes.CDLL(None)
            for name, value in _CHOICES.items():
                library.mallopt(name, value)


def give_back_heap() -> None:
    """Give the system what the C library has free: opening a workspace needs more than answering."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)


def let_go_of_files(part: str = "") -> None:
    """Let the system have the pages of files that this process maps; one that is needed again is read again.

    Pages that other processes use stay, and those that were written to.

    Args:
        part: Only files whose path has this part.
    """
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            advise = ctypes.CDLL(None).madvise
            for line in Path("/proc/self/maps").read_text("utf-8", "replace").splitlines():
                place, *_, path = line.split(maxsplit=5)
                if path.startswith("/") and part in path:
                    start, end = (int(each, 16) for each in place.split("-"))
                    advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _PAGE_OUT)


def arrow_without_pandas() -> None:
    """Let Arrow look for pandas once and find none; whoever imports pandas later finds it."""
    if "pandas" in sys.modules:
        return
    hiding = _NoPandas()
    sys.meta_path.insert(0, hiding)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hiding)


class _NoPandas:
    """Finds no pandas, and leaves everything else to others."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Refuse it by name."""
        if name == "pandas":
            raise ModuleNotFoundError(name)
