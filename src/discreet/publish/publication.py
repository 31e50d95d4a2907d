"""A publication: a signed list of files, each named by the SHA-256 of its content.

    publication.json     the pointer: the current list, its signature (Ed25519), the public key
    files/SHA256         the list itself, and for each dataset its description, its noise and its tables

The pointer is replaced last, by one rename. Readers verify the signature of the list, and the hash of every file before its
use: a damaged, foreign or swapped file is refused.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from discreet.errors import PublicationUnusable, SignatureUnusable
from discreet.publish.file_store import Storage
from discreet.publish.release_file import pack, unpack
from discreet.records.signing import PublicKey, SigningKey

POINTER = "publication.json"
FORMAT, VERSION = "discreet-publication", 1
#: The prefix of signed content, so that a signature of anything else does not fit.
_SIGNED = b"discreet publication 1\n"


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file by its content."""

    sha256: str
    bytes: int

    @property
    def name(self) -> str:
        return f"files/{self.sha256}"


def ref_to(content: bytes) -> FileRef:
    """The reference to a content."""
    return FileRef(sha256(content).hexdigest(), len(content))


@dataclass(frozen=True, slots=True)
class PublishedDataset:
    """One dataset of a publication.

    Args:
        digest: The version.
        parts: The file of its description and documents.
        noise: The file of its noise.
        boundaries: GeoJSON files by variable.
        universe: The file of the noisy residuals of a joint universe; None if tables are published.
        tables: The requests that were published, each with its file.
    """

    digest: str
    parts: FileRef
    noise: FileRef
    boundaries: Mapping[str, FileRef] = field(default_factory=dict)
    universe: FileRef | None = None
    tables: tuple[tuple[dict[str, Any], FileRef], ...] = ()

    def files(self) -> Iterator[FileRef]:
        yield from (self.parts, self.noise, *self.boundaries.values())
        yield from () if self.universe is None else (self.universe,)
        yield from (ref for _, ref in self.tables)

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "boundaries": {name: asdict(ref) for name, ref in sorted(self.boundaries.items())},
            "tables": [{"request": request, **asdict(ref)} for request, ref in self.tables],
        }


@dataclass(frozen=True, slots=True)
class Publication:
    """The content of the signed list.

    Args:
        datasets: By id.
        options: Publisher and licence, if the workspace names them.
    """

    datasets: Mapping[str, PublishedDataset]
    options: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        """The list as a file; equal publications give equal bytes."""
        datasets = {name: each.as_json() for name, each in sorted(self.datasets.items())}
        return pack(
            {"format": FORMAT, "version": VERSION, "options": dict(self.options), "datasets": datasets}
        )


def write_pointer(place: Storage, publication: Publication, key: SigningKey) -> bool:
    """Write the list and then the pointer to it; returns whether the pointer changed."""
    content = publication.content()
    listed = ref_to(content)
    pointer = {
        "format": FORMAT,
        "version": VERSION,
        "list": asdict(listed),
        "public_key": key.public.text,
        "signature": key.sign(_SIGNED + content).hex(),
    }
    text = (json.dumps(pointer, indent=1) + "\n").encode("ascii")
    if place.size(POINTER) == len(text) and place.read(POINTER) == text:
        return False
    if place.size(listed.name) != listed.bytes:
        place.write(listed.name, content)
    place.write(POINTER, text)
    return True


def read_publication(place: Storage, trusted: PublicKey | None) -> tuple[Publication, PublicKey]:
    """Read and verify a publication; returns it and the key that signed it.

    The `trusted` key must have signed it; None takes the pointer's, which detects damage but no forgery.

    Raises:
        PublicationUnusable: There is none, or it is damaged.
        SignatureUnusable: The signature is another key's, or does not fit.
    """
    try:
        pointer = json.loads(place.read(POINTER))
        listed = FileRef(**pointer["list"])
        key, signature = PublicKey(pointer["public_key"]), bytes.fromhex(pointer["signature"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damage_error(POINTER) from None
    if trusted is not None and key != trusted:
        raise SignatureUnusable(
            f"The publication is signed by the key {key.fingerprint[:16]}, and {trusted.fingerprint[:16]} is trusted.",
            "Give the public key of the office that published it, or get the publication from that office.",
        )
    content = read_file(place, listed)
    key.verify(signature, _SIGNED + content)
    return _parse_list(content), key


def read_file(place: Storage, ref: FileRef) -> bytes:
    """Read and verify a file of a publication.

    Raises:
        PublicationUnusable: It is missing, damaged or another.
    """
    content = place.read(ref.name)
    if ref_to(content) != ref:
        raise _damage_error(ref.name)
    return content


def _parse_list(content: bytes) -> Publication:
    try:
        document = unpack(content)
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise PublicationUnusable(
                f"The publication has the format {document['format']!r} {document['version']!r}.",
                "Serve it with the version of Discreet that wrote it, or a newer one.",
            )
        datasets = {name: _dataset(each) for name, each in document["datasets"].items()}
        return Publication(datasets, document["options"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damage_error("the list of files") from None


def _dataset(entry: Mapping[str, Any]) -> PublishedDataset:
    universe = entry["universe"]
    return PublishedDataset(
        entry["digest"],
        FileRef(**entry["parts"]),
        FileRef(**entry["noise"]),
        {name: FileRef(**ref) for name, ref in entry["boundaries"].items()},
        None if universe is None else FileRef(**universe),
        tuple((each["request"], FileRef(each["sha256"], each["bytes"])) for each in entry["tables"]),
    )


def _damage_error(name: str) -> PublicationUnusable:
    return PublicationUnusable(
        f"{name!r} of the publication is damaged or was changed after signing.",
        "Publish again, or copy the publication again from its source.",
    )
