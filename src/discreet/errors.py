"""All errors that users can see, with stable codes and advice.

Each error has a code (the tail of the HTTP problem `type`), an HTTP status and an exit code of the command line. A message
states the value, the allowed values and what to do next; it depends on public or noisy facts only, never on a true count.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from discreet.model.messages.text import message

EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_NOT_FOUND = 4
EXIT_BUDGET = 5
EXIT_OURS = 70
#: The exit code of an HTTP status, unless the class names another; further statuses inherit theirs.
_EXITS = dict.fromkeys((400, 422, 501), EXIT_USAGE) | dict.fromkeys((401, 403, 410, 429), EXIT_REFUSED)


class DiscreetError(Exception):
    """The base class of all errors for users; the code of a class is its name, unless it states another."""

    code: str = "internal"
    title: ClassVar[str] = message("Something went wrong on our side")
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = EXIT_OURS

    def __init_subclass__(cls, code: str = "", title: str = "", status: int = 0, exit_code: int = 0) -> None:
        cls.code = code or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()
        cls.title = title or cls.title
        cls.http_status = status or cls.http_status
        cls.exit_code = exit_code or _EXITS.get(status, cls.exit_code)

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


class BadRequest(DiscreetError, title=message("The request cannot be read"), status=400):
    """The request cannot be parsed: a word, a number or a combination without a meaning."""


class UnknownVariable(BadRequest, title=message("Unknown variable")):
    """A variable that the dataset does not have."""


class UnknownCategory(BadRequest, title=message("Unknown category")):
    """A category that its variable does not have."""


class UnknownFormat(BadRequest, title=message("Unknown format")):
    """A file format that is not offered."""


class UnknownEngine(BadRequest, title=message("Unknown engine")):
    """An engine that is not offered."""


class RequestTooLong(BadRequest, title=message("The address is too long"), status=414):
    """A URL that is longer than the server reads."""


class BodyTooLarge(BadRequest, title=message("The request is too large"), status=413):
    """A request with a longer body than the server reads."""


class NotAcceptable(BadRequest, title=message("No such format is offered"), status=406):
    """An `Accept` header that names no format of the answer."""


class RangeNotSatisfiable(BadRequest, title=message("The document is shorter"), status=416):
    """A `Range` header that asks for bytes beyond the end of the document."""


class UntrustedHost(BadRequest, title=message("This server does not answer for that host"), status=421):
    """A request for a host name that this server is not configured for."""


class NoBudget(BadRequest, title=message("There is no privacy budget"), status=404):
    """A dataset without a privacy budget: only the method `dp` has one."""


class MethodNotAllowed(BadRequest, title=message("This method is not offered"), status=405):
    """An HTTP method that the URL does not support: tables are read, never written."""


class TooManyCalls(DiscreetError, title=message("Too many calls"), status=429):
    """An account or an IP address exceeded its rate limit; `retry_after` is in seconds."""

    def __init__(self, message: str, advice: str = "", *, retry_after: int = 1) -> None:
        super().__init__(message, advice)
        self.retry_after = retry_after


class Stopped(DiscreetError, title=message("Stopped by the watch of requests"), status=403):
    """A client that the detectors have blocked, because its requests look like an attack."""


class Busy(DiscreetError, title=message("Too much to do"), status=503):
    """The server is overloaded; `retry_after` is in seconds."""

    def __init__(self, message: str, advice: str = "", *, retry_after: int = 1) -> None:
        super().__init__(message, advice)
        self.retry_after = retry_after


class UnknownDataset(DiscreetError, title=message("Unknown dataset"), status=404, exit_code=EXIT_NOT_FOUND):
    """A dataset that is not in the workspace."""


class UnknownVersion(UnknownDataset, title=message("Unknown version")):
    """A version that the dataset does not have."""


class VersionClosed(DiscreetError, title=message("This version is not answered any more"), status=410):
    """An earlier version that is no longer served, or no longer retained."""


class NotFound(DiscreetError, title=message("Not found"), status=404, exit_code=EXIT_NOT_FOUND):
    """A file, folder or page that does not exist."""


class Refused(DiscreetError, title=message("This table is refused"), status=403):
    """A valid request that a rule refuses.

    A rule without a class here sets its own `code`. `cacheable` is False where the answer depends on time or account.
    """

    def __init__(
        self, message: str, advice: str = "", *, code: str | None = None, cacheable: bool = True
    ) -> None:
        super().__init__(message, advice)
        self.code = code or type(self).code
        self.cacheable = cacheable


class TooManyCells(Refused, title=message("Too many cells")):
    """A table with more cells than the dataset releases at a time."""


class TooManyVariables(Refused, title=message("Too many variables")):
    """A table that crosses more variables than the dataset allows."""


class GroupsOnGeography(Refused, title=message("Geography cannot be regrouped")):
    """Free groups on a geography: unions of areas that differ by a sliver identify people."""


class ForbiddenCombination(Refused, title=message("These variables may not be combined")):
    """Variables that may not be used together, or not in places so small."""


class MandatoryVariables(Refused, title=message("A variable is missing")):
    """A variable that may be used only together with others."""


class AreaTooSmall(Refused, code="minimum-area-size", title=message("The area is too small")):
    """A table about areas whose public population figure is below the minimum."""


class TooManyGroups(Refused, title=message("No more groups of your own")):
    """Free groups where none, or no more, are allowed."""


class NestedGroups(Refused, title=message("The group is too close to another")):
    """A group that differs by a few categories from another one."""


class TableNotReleased(Refused, title=message("The table is too sparse to be released")):
    """A table that fails the rules on noisy counts as a whole."""


class OutsideUniverse(Refused, title=message("Outside the declared tables")):
    """A table that no declared table of a differentially private dataset contains."""


class NotPublished(Refused, title=message("Not among the published tables")):
    """A table that is not among the published ones, on a server that has no others."""


class TooMuchToPublish(Refused, title=message("Too much to publish")):
    """A publication that exceeds the limit of files or bytes; nothing is written."""


class BudgetSpent(
    DiscreetError, title=message("The privacy budget does not allow this"), status=403, exit_code=EXIT_BUDGET
):
    """The remaining privacy budget does not cover the request; nothing is computed or charged."""


class BadKey(DiscreetError, title=message("The API key is not accepted"), status=401):
    """An API key or a token that is unknown, expired, revoked, or cannot be verified at the moment."""


class NotAllowed(Refused, title=message("Not allowed with this account")):
    """An account whose role does not allow what it asks."""


class BadDescription(DiscreetError, title=message("The dataset description is not usable"), status=422):
    """A `dataset.toml` that cannot be used."""


class BadData(DiscreetError, title=message("The records do not fit their description"), status=422):
    """Records that contradict their description, or a file that cannot be read."""


class BadRecords(BadData):
    """Records that contradict their description: the first problems, and their number by variable."""

    def __init__(
        self,
        message: str,
        advice: str = "",
        problems: Sequence[Mapping[str, Any]] = (),
        counts: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(message, advice)
        self.problems = tuple(problems)
        self.counts = dict(counts or {})


class BadOption(
    DiscreetError,
    code="bad-setting",
    title=message("An option is not usable"),
    status=500,
    exit_code=EXIT_USAGE,
):
    """An option with an invalid value."""


class BadNoiseTable(
    DiscreetError, title=message("The noise table is not usable"), status=500, exit_code=EXIT_USAGE
):
    """A noise table with a gap, an overlap, a wrong sum or a wrong mean."""


class InfeasibleDesign(DiscreetError, title=message("No such noise table exists"), status=422):
    """A noise table that cannot exist; the message names the violated bound."""


class SecretUnusable(DiscreetError, title=message("The secret cannot be used"), status=503):
    """The secret is missing, too short, guessable or readable by others."""


class WorkspaceUnusable(DiscreetError, title=message("The workspace cannot be used"), status=503):
    """The workspace cannot be opened or is damaged."""


class PublicationUnusable(DiscreetError, title=message("The publication cannot be used"), status=503):
    """A publication that is missing, damaged, foreign or not signed by the trusted key."""


class SignatureUnusable(DiscreetError, title=message("The signature cannot be used"), status=503):
    """A signing key that cannot be used, or a signature that is not by the key."""


class RecordsAway(WorkspaceUnusable, title=message("The records are not here")):
    """The records of a version are missing: their files are gone, or their database does not answer."""


class LedgerUnusable(DiscreetError, title=message("The privacy ledger cannot be used"), status=503):
    """The ledger is missing, damaged, full or out of reach; requests with a charge are not answered."""


class ServerUnusable(DiscreetError, title=message("The server cannot be used"), status=502):
    """A server that cannot be reached, is overloaded, or is no Discreet server."""


class MissingExtra(DiscreetError, title=message("An optional package is missing"), status=501):
    """A feature whose optional packages are not installed."""


def all_errors() -> list[type[DiscreetError]]:
    """Every error class, for the reference page and its test."""
    found: list[type[DiscreetError]] = [DiscreetError]
    for kind in found:  # grows as it is read
        found += kind.__subclasses__()
    return found
