"""What a workspace holds, a line a dataset; nothing that tells of its people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.records.secret import read_secret
from discreet.workspace.corrections import served_digest
from discreet.workspace.upkeep.places import homes, size_of, versions_of
from discreet.workspace.version import DIGEST, read_version
from discreet.workspace.wording import apply_wording

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Listed:
    """A dataset of a workspace.

    Args:
        id: Its id.
        label: Its label; empty where it is not served, or cannot be.
        version: What its served version calls itself, with the beginning of its digest; empty where none is.
        loaded: When that was loaded.
        method: `cellkey` or `dp`.
        kept: How many versions are on disk.
        size: Bytes on disk.
        trouble: Why it cannot be served, if so.
    """

    id: str
    label: str
    version: str
    loaded: str
    method: str
    kept: int
    size: int
    trouble: str = ""

    def as_json(self) -> dict[str, Any]:
        """What is printed with `--json`."""
        return asdict(self)


def list_datasets(folder: Path) -> list[Listed]:
    """The datasets of a workspace, removed ones included.

    Raises:
        NotFound: There is no workspace.
    """
    return [_facts(home) for home in homes(folder)]


def _facts(home: Path) -> Listed:
    kept = sum(1 for place in home.iterdir() if DIGEST.match(place.name))
    bare = Listed(home.name, "", "", "", "", kept, size_of(home))
    digest = served_digest(home)
    if not digest:
        return bare
    try:
        secret = read_secret(home.parents[1] / "secret")
        version = read_version(home / digest, secret)
        dataset = apply_wording(home, digest, version, secret)
        loaded = next((v.loaded for v in versions_of(home) if v.current), "")
    except DiscreetError as error:
        return Listed(home.name, "", digest[:8], "", "", kept, bare.size, error.message)
    told = f"{dataset.version} ({digest[:8]})"
    return Listed(home.name, dataset.label, told, loaded, dataset.protection.method, kept, bare.size)
