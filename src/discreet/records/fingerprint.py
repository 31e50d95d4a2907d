"""A keyed fingerprint of the records that does not depend on their order, and a keyed sketch of their ids.

Fingerprint: each record is a message of 16-byte blocks (its id's hash, then its codes and weight), authenticated by CBC-MAC
under AES-256; the tags are added modulo 2^128. All messages of one dataset have the same length, for which CBC-MAC is a
pseudo-random function, and the sum is a multiset hash: no one without the secret can confirm a guess about a record.

Sketch: enough to detect that the same people were loaded before.

    h(id)    = 64 bits of AES-256 under a key of the secret, of half the SHA-256 of the id
    sketch   = the 65,536 smallest h of all ids (all of them if there are fewer)
    overlap  = of the ids of A with h below both sketches' ends, the share in B

Under a random h these ids are a sample of A independent of B, so the share is unbiased, and exact if both sketches are
complete. A file of n people, all of them among N, has no id in the sample with probability (1 - 65,536/N)^n. On disk a
sketch is enciphered and authenticated under keys of the secret and the version; its size reveals the number of ids to a
factor of two below 65,536. Sketches under different secrets cannot be compared.

Source: Clarke et al., "Incremental multiset hash functions" (2003), MSet-Add-Hash; Bar-Yossef et al., "Counting distinct
elements in a data stream" (2002); Cohen & Kaplan, "Summarizing data using bottom-k sketches" (2007); Clopper & Pearson
(1934).
"""

import hashlib
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.records.keys import BLOCK, Purpose, Secret, counter_words, encipher

MOST = 2**16
FEWEST_STORED = 2**10
#: The error probability of the interval of an overlap.
MISS = 0.01
_TOP = np.uint64(2**64 - 1)
_SEAL_BYTES = 32


class IdSketch:
    """Collects the smallest keyed hashes of ids, chunk by chunk."""

    def __init__(self, secret: Secret) -> None:
        self._key = secret.derive(Purpose.ID_SKETCH)
        self.values: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)

    def add(self, id_hashes: NDArray[np.uint8]) -> None:
        """Add ids by their hashes; repeated ids change nothing."""
        found = encipher(self._key, id_hashes).view("<u8")[:, 0]
        if self.values.size == MOST:
            found = found[found < self.values[-1]]
        self.join(found)

    def join(self, values: NDArray[np.uint64]) -> None:
        """Add keyed hashes of another part."""
        self.values = np.unique(np.concatenate([self.values, values]))[:MOST]


@dataclass(frozen=True, slots=True)
class Overlap:
    """The number of ids in both of two sketches; `whole` if all ids were compared, so that the share is exact."""

    matched: int
    sampled: int
    whole: bool

    @property
    def share(self) -> float:
        """The share of ids that are in both."""
        return self.matched / self.sampled if self.sampled else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The Clopper-Pearson interval of the share, at 99 %."""
        if self.whole:
            return self.share, self.share
        from scipy.special import betaincinv  # noqa: PLC0415 - slow to import, and only a load asks

        k, n = self.matched, self.sampled
        low = float(betaincinv(k, n - k + 1, MISS / 2)) if k else 0.0
        high = float(betaincinv(k + 1, n - k, 1 - MISS / 2)) if k < n else 1.0
        return low, high


def overlap(ids: NDArray[np.uint64], others: NDArray[np.uint64]) -> Overlap:
    """The overlap of the first sketch with the second."""
    end = min(_end(ids), _end(others))
    sample = ids[ids <= end]
    matched = int(np.isin(sample, others, assume_unique=True).sum())
    return Overlap(matched, sample.size, whole=bool(end == _TOP))


def number_records(ids: NDArray[np.uint64], records: int, secret: Secret) -> bool:
    """Whether the ids in a sketch are the numbers of the records, from 0 or 1, as `7`, `007` or `7.0`.

    With a sketch of all ids this is exact; else some 65,536 of the numbers are tried, of which none that lies below the
    sketch's end may be missing.
    """
    many = ids.size if ids.size < MOST else records
    for first, text in product((0, 1), ("{}", f"{{:0{len(str(many))}}}", "{}.0")):
        numbers = IdSketch(secret)
        tried = (text.format(number).encode() for number in range(first, first + many, max(1, many // MOST)))
        digests = b"".join(hashlib.sha256(each).digest()[:BLOCK] for each in tried)
        numbers.add(np.frombuffer(digests, dtype=np.uint8).reshape(-1, BLOCK))
        found = numbers.values[numbers.values <= _end(ids)]
        if found.size and np.isin(found, ids, assume_unique=True).all():
            return True
    return False


def seal_sketch(values: NDArray[np.uint64], secret: Secret, digest: str) -> bytes:
    """The bytes of a sketch on disk: its MAC, then its length and values, enciphered."""
    stored = max(FEWEST_STORED, 1 << max(values.size - 1, 0).bit_length())
    words = np.full(stored + 1, _TOP, dtype="<u8")
    words[0], words[1 : values.size + 1] = values.size, values
    words ^= counter_words(secret.derive(Purpose.ID_SKETCH_FILE, digest), words.size)
    return _seal(words.tobytes(), secret, digest) + words.tobytes()


def open_sketch(content: bytes, secret: Secret, digest: str) -> NDArray[np.uint64] | None:
    """The values of a sketch; None if it was changed, or belongs to another secret or version."""
    seal, hidden = content[:_SEAL_BYTES], content[_SEAL_BYTES:]
    if seal != _seal(hidden, secret, digest):
        return None
    words = np.frombuffer(hidden, dtype="<u8")
    words = words ^ counter_words(secret.derive(Purpose.ID_SKETCH_FILE, digest), words.size)
    return words[1 : int(words[0]) + 1].astype(np.uint64)


def _end(values: NDArray[np.uint64]) -> np.uint64:
    return values[-1] if values.size == MOST else _TOP


def _seal(hidden: bytes, secret: Secret, digest: str) -> bytes:
    key = secret.derive(Purpose.ID_SKETCH_SEAL, digest)
    return hashlib.blake2b(hidden, key=key, digest_size=_SEAL_BYTES, person=b"discreet-sketch").digest()


class Fingerprint:
    """Adds up the tags of records, chunk by chunk, with a sketch of their ids."""

    def __init__(self, secret: Secret, lineage: str) -> None:
        self._key = secret.derive(Purpose.RECORD_FINGERPRINT, lineage)
        self.ids = IdSketch(secret)
        self._sum = 0
        self._records = 0

    def add(self, id_hashes: NDArray[np.uint8], columns: list[NDArray[np.generic]]) -> NDArray[np.uint8]:
        """Add records: their hashed ids and their integer columns in a fixed order; returns their tags."""
        tags = encipher(self._key, id_hashes)
        padded = [*columns, *([np.zeros(len(id_hashes), "<u8")] * (len(columns) % 2))]
        for first, second in zip(padded[::2], padded[1::2], strict=True):
            pair = np.empty((len(id_hashes), 2), dtype="<i8")
            pair[:, 0], pair[:, 1] = first, second
            tags = encipher(self._key, tags ^ pair.view(np.uint8).reshape(-1, BLOCK))
        # The tags as little-endian words of 32 bits, whose sums fit 64.
        quarters = tags.view("<u4").sum(axis=0, dtype=np.uint64).tolist()
        self.join(sum(each << (32 * place) for place, each in enumerate(quarters)), len(id_hashes))
        return tags

    @property
    def so_far(self) -> tuple[int, int]:
        """The sum of the tags, and the number of records."""
        return self._sum, self._records

    def join(self, added: int, records: int) -> None:
        """Add the `so_far` of another part."""
        self._sum = (self._sum + added) % 2**128
        self._records += records

    def of_records(self, meaning: str) -> str:
        """The fingerprint of the records alone, for description keys. Never show it: equal records have equal ones.

        `meaning` is that of the integer codes: with another code list they are other records.
        """
        parts = (self._sum.to_bytes(16, "little"), self._records.to_bytes(8, "little"), meaning.encode())
        return hashlib.blake2b(
            b"".join(parts), key=self._key, digest_size=16, person=b"discreet-records"
        ).hexdigest()

    def digest(self, description: str) -> str:
        """The version id: it covers the records, their number and the text of `dataset.toml`."""
        parts = (self._sum.to_bytes(16, "little"), self._records.to_bytes(8, "little"), description.encode())
        return hashlib.blake2b(
            b"".join(parts), key=self._key, digest_size=16, person=b"discreet-digest"
        ).hexdigest()
