"""SDMX names: the dataflow of a table, ids of codes, and attributes of values.

    census                    the dataflow of a dataset: all its variables are dimensions
    census-sex-age            the dataflow of one table: these variables, in this order
    potatoes-weighted-age     the same for another measure than the dataset's first

A table that is filtered, grouped or shown at other levels has a separate dataflow, whose name ends in a number. SDMX
allows few characters in the id of a code. Others are written as `$` and two hexadecimal digits per byte of UTF-8, so
that an id is the same in a file, in a URL and in a key such as `F+M..R1`: `65+` is `65$2B`.

Source: SDMX 2.1, section 2 (information model), IDType; SDMX code lists CL_OBS_STATUS 2.2 and CL_CONF_STATUS 1.2.
"""

import hashlib
import re
from dataclasses import dataclass, replace

from discreet.model.dataset import Dataset
from discreet.model.messages.sentences import citation
from discreet.model.release import Release
from discreet.model.request import COUNT, DEFAULT_MEASURE

AGENCY = "DISCREET"
#: A fixed time of preparation, so that the same release gives the same bytes.
PREPARED = "2000-01-01T00:00:00Z"
#: SDMX's codes in the order of our status letters: released, withheld, not applicable, unreliable.
OBS_STATUS = (
    ("A", "Normal value"),
    ("Q", "Missing value; suppressed"),
    ("M", "Missing value; data cannot exist"),
    ("U", "Low reliability"),
)
#: One code for all withheld cells: the reason is not disclosed.
CONF_STATUS = (("F", "Free"), ("C", "Confidential statistical information"))
#: The index in `CONF_STATUS` for each status letter.
CONF_PLACES = (0, 1, 0, 0)
#: Attributes of a value with their names. The last three are optional.
OF_VALUES = {
    "OBS_STATUS": "Observation status",
    "CONF_STATUS": "Confidentiality status",
    "SIGNED": "The value before numbers below zero are shown as zero",
    "RELATIVE_STANDARD_ERROR": "Relative standard error of sampling and noise together, in percent",
    "NOISE_SHARE": "The noise's part of the error's variance, in percent",
}
#: Attributes of a table.
OF_TABLES = {
    "TITLE": "Title",
    "NOTE": "What every reader must be told",
    "PROMISE": "What the protection promises",
    "DATASET_VERSION": "Version of the dataset",
    "DIGEST": "Digest of the version",
    "CITATION": "How to cite the table",
}
_NOT_IN_IDS = re.compile(r"^-|[^A-Za-z0-9_-]")
_VERSION = re.compile(r"\d{1,9}(\.\d{1,9}){0,2}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Flow:
    """A dataflow: its id, the version of its structure, and its variables in the order of a key."""

    id: str
    version: str
    dimensions: tuple[str, ...]

    @property
    def urn(self) -> str:
        return f"urn:sdmx:org.sdmx.infomodel.datastructure.Dataflow={self.reference}"

    @property
    def reference(self) -> str:
        """Agency, name and version: `DISCREET:census-sex-age(1.0.0)`."""
        return f"{AGENCY}:{self.id}({self.version})"


def flow_word(measure: str) -> str:
    """The name of a measure in the id of a dataflow, which has no dots.

    >>> flow_word("income.mean")
    'income_mean'
    """
    return measure.replace(".", "_")


def dataset_flow(dataset: Dataset, variables: tuple[str, ...] = (), measure: str = "") -> Flow:
    """The dataflow of a table of some variables; without variables, that of the dataset.

    `measure` is empty for the dataset's first.
    """
    names = variables or tuple(variable.name for variable in dataset.variables)
    words = [dataset.id, *([flow_word(measure)] if measure else []), *variables]
    return Flow("-".join(words), structure_version(dataset), names)


def flow_of(release: Release) -> Flow:
    """The dataflow of a released table."""
    request = release.request
    measure = (
        request.measure
        if request.measure != DEFAULT_MEASURE and COUNT.refuse(release.dataset) is None
        else ""
    )
    flow = dataset_flow(release.dataset, request.variables, measure)
    if not (request.filters or request.groups or request.levels):
        return flow
    number = int(hashlib.sha256(request.permalink.encode()).hexdigest()[:8], 16)
    return replace(flow, id=f"{flow.id}-{number}")


def structure_version(dataset: Dataset) -> str:
    """The dataset's version as three numbers; 1.0.0 where it is no number."""
    given = dataset.version.split(".") if _VERSION.match(dataset.version) else ["1"]
    return ".".join(str(int(part)) for part in [*given, "0", "0"][:3])


def sdmx_id(code: str) -> str:
    """A code as SDMX may write it.

    >>> sdmx_id("R01"), sdmx_id("65+"), sdmx_id("=1"), sdmx_id("-5-9")
    ('R01', '65$2B', '$3D1', '$2D5-9')
    """
    return _NOT_IN_IDS.sub(lambda found: "".join(f"${byte:02X}" for byte in found[0].encode()), code)


def words_of(release: Release) -> dict[str, str]:
    """The attributes of a table, each in one line."""
    words = (
        release.title,
        " ".join(release.notes),
        " ".join(release.promise),
        release.dataset.version,
        release.digest,
        citation(release),
    )
    return {name: " ".join(text.split()) for name, text in zip(OF_TABLES, words, strict=True)}
