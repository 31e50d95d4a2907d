"""The name of a mechanism and its scale, as it enters keys and ledgers: another epsilon is another mechanism."""

from __future__ import annotations

from functools import lru_cache

from discreet.noise.files import content_hash
from discreet.noise.table import NoiseTable


def mechanism_name(table: NoiseTable) -> str:
    """Family, epsilon and a hash of the integers that are looked up.

    >>> from discreet.noise.table import NoiseRow, NoiseTable
    >>> mechanism_name(NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),), family="file"))[:10]
    'file:None:'
    """
    # Tables are equal whatever their parameters, so the epsilon stays outside what is remembered.
    return f"{table.family}:{table.parameters.get('epsilon')!r}:{_hash(table)}"


@lru_cache(maxsize=4096)
def _hash(table: NoiseTable) -> str:
    return content_hash(table)
