"""Data whose true numbers give themselves away, and a scan that finds them in whatever leaves a server.

Each person of a small town is there `step` times, so every true count, of whatever question, is a multiple of the step.
The noise table of the office adds about a fifth of the step to each count, so no released count is one. A multiple of the
step that leaves is therefore a true count, but for ends of intervals and differences, which follow from released numbers
and are left out (`without_derived`).
The step is prime and larger than the number of requests, so no metric reaches it.

Ids and names have a word in them that stands nowhere else. Record keys, their sums and cell keys are known by their values:
the keys of all records, and every sum and cell key that the server computes while it is watched.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zipfile
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import binom
from tests.conftest import JOINT, SECRET_BYTES, TOWN, town_records, write_secret

from discreet.noise.files import write_noise_table
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.protect import cell_keys
from discreet.records.keys import Secret, record_keys
from discreet.release import verdicts as counting
from discreet.web.detectors.patterns import DETECTORS
from discreet.workspace.ledger_location import open_accounts, open_ledger
from discreet.workspace.versions.load_version import load_dataset

PEOPLE = 28
ID, NAME = "zq7id", "zq7name"
WEIGHT = 7
RULES = '[[rule]]\nkind = "share-of-zeros"\nmost = 0.5\nfrom_variables = 2\n'
#: Alerts, so that there are some to show; nobody is held back.
WATCH = "[watch]\n" + "".join(f"{each.name} = [2, 0, 0]\n" for each in DETECTORS)
SURVEY = """
[survey]
form = "average-weight"
sample_size = {size}
population_size = {weight}
largest_weight = 7
relative_variance = 0
"""
DP = (
    ("epsilon = 4.0", "epsilon = 0.04"),
    ("answer_cost = 0.5", "answer_cost = 0.01"),
    ("_epsilon = 9.0", "_epsilon = 1.0"),
)
NOISE = '[protection.noise]\nfile = "noise.json"\nbiased = true\n'


def canary_noise(step: int) -> NoiseTable:
    """Noise that never leaves a count as it is: twelve values of a little more than a fifth of the step.

    Five cells are then moved by a little more than a step, so no sum of a few cells is a multiple.
    """
    values = tuple(range(step // 5 + 3, step // 5 + 15))
    bounds = tuple(2**32 * (number + 1) // len(values) for number in range(len(values)))
    return NoiseTable(2**32, (NoiseRow((0,), (2**32,)), NoiseRow(values, bounds)), 1, "file")


def canary_records(step: int) -> pa.Table:
    """Each person `step` times, each time with an id and a name of its own."""
    every = town_records(PEOPLE).take(np.repeat(np.arange(PEOPLE), step))
    number = np.arange(every.num_rows)
    ids, names = (pa.array(np.char.add(f"{word}-", number.astype(str))) for word in (ID, NAME))
    weights = pa.array(np.full(every.num_rows, WEIGHT))
    every = every.drop_columns(["person"])
    return every.append_column("person", ids).append_column("name", names).append_column("w", weights)


def described(name: str, more: str = "", rules: str = "", protection: str = NOISE) -> str:
    """The town as the dataset of a name."""
    text = TOWN[: TOWN.index("[protection]")].replace('"town"', f'"{name}"').replace("A town", name.title())
    return f"{text}{more}{rules}[protection]\nmax_variables = 3\n{protection}"


def canary_workspace(folder, step: int) -> dict[str, str]:
    """Five datasets of the same people: plain in two versions, with rules, for analysts, a survey, and under `dp`.

    Returns:
        The keys of accounts, by role.
    """
    write_secret(folder)
    (folder / "workspace.toml").write_text(WATCH)
    write_noise_table(canary_noise(step), folder / "noise.json")
    records = canary_records(step)
    size = len(records) - 3  # it is public, and no multiple
    survey = SURVEY.format(size=size, weight=size * WEIGHT)
    weighted = described("survey", survey).replace('"person"', '"person"\nweight_column = "w"', 1)
    load_dataset(folder, described("plain"), records.slice(0, 20 * step), beside=folder)
    newer = described("plain").replace('version = "1"', 'version = "2"')
    load_dataset(folder, newer, records, beside=folder, serve_beside=True)
    load_dataset(folder, described("ruled", rules=RULES), records, beside=folder)
    load_dataset(folder, described("closed", '[access]\nwho = "analyst"\n'), records, beside=folder)
    load_dataset(folder, weighted, records.slice(3), beside=folder)
    joint = JOINT.replace('"town"', '"guarded"')
    # With noise of the size of a step, one released count in `step` is a multiple by chance.
    for strong, weak in DP:
        assert strong in joint
        joint = joint.replace(strong, weak)
    load_dataset(folder, described("guarded").split("[protection]")[0] + joint, records, beside=folder)
    accounts, ledger = open_accounts(folder), open_ledger(folder)
    keys = {role: accounts.create(f"zq7{role}", role) for role in ("reader", "analyst", "custodian")}
    ledger.allow("guarded", "zq7analyst", (Fraction(1, 2), Fraction(1, 10**7)))
    ledger.close()
    return keys


@dataclass
class Canaries:
    """What must not leave.

    Args:
        step: What every true count is a multiple of.
        numbers: Keys of records; sums and cell keys are added as they are computed.
        words: Bytes that stand for ids, names, keys and the secret.
        looked_at: How many numbers were compared.
    """

    step: int
    words: tuple[bytes, ...]
    numbers: set[int] = field(default_factory=set)
    looked_at: int = 0

    def found_in(
        self, content: bytes, *, grouped: bool = False, derived: bool = False, public: bool = False
    ) -> set[str]:
        """What a content tells that it must not.

        Args:
            content: What left.
            grouped: Whether digits may stand in groups of three.
            derived: Whether its counts follow from released ones and may be true by chance: then only keys are looked for.
            public: Whether all its numbers are the public ones of a noise table, thousands as large as keys: one in
                thousands is one by chance. Then only words are looked for.
        """
        found = {repr(word) for word in self.words if word in content}
        if public:
            return found
        standing = numbers_in(content.decode("utf-8", "replace"), grouped=grouped)
        self.looked_at += len(standing)
        largest = PEOPLE * self.step * WEIGHT  # of all counts; a number up to it may be one
        for number in standing:
            if not derived and number and number % self.step == 0 and number <= largest:
                found.add(f"the true count {number}")
            if number > largest and number in self.numbers:
                found.add(f"the key {number}")
        return found


#: A number by itself: no part of a word, a hash, an address in percents, or another number.
_PLAIN = re.compile(r"(?<![\w.#%-])(\d{4,})(?:\.0+)?(?![\w%-]|\.\d)")
_GROUPED = re.compile(r"(?<![\w.,#%-])(\d{1,3}(?:[,.\u00a0\u202f']\d{3})+)(?![\w%-]|[.,]\d)")


def numbers_in(text: str, *, grouped: bool) -> set[int]:
    """Every whole number of four digits and more that stands by itself.

    >>> sorted(numbers_in('{"a": 10007.0, "b": "ab10007", "c": [20014]} 30,021', grouped=True))
    [10007, 20014, 30021]
    """
    found = {int(digits) for digits in _PLAIN.findall(text)}
    if grouped:
        found |= {int(re.sub(r"\D", "", digits)) for digits in _GROUPED.findall(text)}
    return found


#: How often numbers with random noise are taken for true ones, though none is.
FALSE_ALARM = 1e-6


def more_than_chance(numbers: set[int], step: int) -> bool:
    """Whether more of the different numbers are multiples than one in `step`.

    >>> noisy = set(range(100_000, 103_000))
    >>> more_than_chance(noisy, 10_007), more_than_chance(noisy | {10_007 * n for n in range(1, 13)}, 10_007)
    (False, True)
    """
    found = sum(number % step == 0 for number in numbers)
    return found > int(binom.isf(FALSE_ALARM, len(numbers), 1 / step))


def secret_words(keys) -> tuple[bytes, ...]:
    """The secret and what is derived from it in every spelling, the words of ids and names, the keys of accounts."""
    secret, raw = Secret(SECRET_BYTES), [SECRET_BYTES]
    for name in ("plain", "ruled", "closed", "survey", "guarded"):
        raw += [secret.derive(label, name) for label in ("record-key", "cell-key", "cell-chance")]
    spelt = [word for each in raw for word in (each, each.hex().encode(), base64.b64encode(each))]
    return (*spelt, ID.encode(), NAME.encode(), *(key[3:].encode() for key in keys))


def keys_of_records(step: int) -> set[int]:
    """The record key of every record of every dataset."""
    ids = (f"{ID}-{number}".encode() for number in range(PEOPLE * step))
    hashes = np.frombuffer(b"".join(hashlib.sha256(each).digest()[:16] for each in ids), np.uint8)
    found: set[int] = set()
    for lineage in ("plain", "ruled", "closed", "survey", "guarded"):
        found |= set(record_keys(Secret(SECRET_BYTES), lineage, hashes.reshape(-1, 16)).tolist())
    return found


def watch_keys(canaries: Canaries, monkeypatch) -> None:
    """Add every sum of keys and every cell key to the canaries, as the server computes it."""
    tabulate, reduced = counting.tabulate, cell_keys.hash_words

    def watched_table(*given, **named):
        exact = tabulate(*given, **named)
        canaries.numbers.update(np.ravel(exact.key_sums).tolist())
        return exact

    def watched_keys(*given):
        keys = reduced(*given)
        canaries.numbers.update(np.ravel(keys).tolist())
        return keys

    monkeypatch.setattr(counting, "tabulate", watched_table)
    monkeypatch.setattr(cell_keys, "hash_words", watched_keys)


def contents(body: bytes, media: str):
    """What a document says: as it is, and unpacked where it is packed."""
    yield body
    if zipfile.is_zipfile(io.BytesIO(body)):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    elif body.startswith(b"PAR1"):
        yield _columns(pq.read_table(io.BytesIO(body)))
    elif body.startswith(b"ARROW1"):
        yield _columns(pa.ipc.open_file(io.BytesIO(body)).read_all())
    elif "arrow" in media and body:
        yield _columns(pa.ipc.open_stream(io.BytesIO(body)).read_all())


def _columns(table: pa.Table) -> bytes:
    return repr(table.to_pydict()).encode() + repr(table.schema.metadata).encode()


#: What follows from released numbers, and may be a true count by chance: ends of intervals, differences of two versions.
DERIVED = {"low", "high", "difference", "ratio"}
_TOLD = re.compile(
    rb'(?: title| aria-label|data-interval)="[^"]*(?:95|%)[^"]*"|95 %[^<]*'
    rb"|(?:lies between|liegt zwischen) [0-9.,]+ (?:and|und) [0-9.,]+[0-9]"
)


def is_derived(path: str) -> bool:
    """Whether all counts of an answer may be derived: cells fitted to their totals, and differences of two versions.

    Both take noise off again where it is alike in several cells, as the noise of the canaries is.
    """
    return "additivity=fitted" in path or "/compare?" in path


def without_derived(body: bytes, media: str) -> bytes:
    """A document without numbers that follow from released ones."""
    if "json" in media and body.startswith(b"{"):
        return json.dumps(_pruned(json.loads(body)), ensure_ascii=False).encode()
    return _TOLD.sub(b"", body) if "html" in media or "svg" in media else body


def _pruned(document):
    if isinstance(document, dict):
        return {key: _pruned(value) for key, value in document.items() if key not in DERIVED}
    return [_pruned(each) for each in document] if isinstance(document, list) else document
