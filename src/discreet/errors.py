"""What a user can meet: every refusal and failure, with a stable code and advice.

Each error knows its code (the tail of the HTTP problem `type`), its HTTP status and the exit code of
the command line. A message tells the value, what is allowed and what to do next; it depends on public
or already-noisy facts only, never on a true count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from discreet.model.messages.text import message

EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_NOT_FOUND = 4
EXIT_BUDGET = 5
EXIT_OURS = 70


class DiscreetError(Exception):
    """The parent of all errors that are meant for a user."""

    code: str = "internal"
    title: ClassVar[str] = message("Something went wrong on our side")
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = EXIT_OURS

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


class BadRequest(DiscreetError):
    """The request cannot be read: a word, a number or a combination that has no meaning."""

    code = "bad-request"
    title = message("The request cannot be read")
    http_status = 400
    exit_code = EXIT_USAGE


class UnknownVariable(BadRequest):
    """A variable that the dataset does not have."""

    code = "unknown-variable"
    title = message("Unknown variable")


class UnknownCategory(BadRequest):
    """A category that its variable does not have."""

    code = "unknown-category"
    title = message("Unknown category")


class UnknownFormat(BadRequest):
    """A file format that is not offered."""

    code = "unknown-format"
    title = message("Unknown format")


class UnknownEngine(BadRequest):
    """An engine that is not offered."""

    code = "unknown-engine"
    title = message("Unknown engine")


class RequestTooLong(BadRequest):
    """An address that is longer than the server reads."""

    code = "request-too-long"
    title = message("The address is too long")
    http_status = 414


class BodyTooLarge(BadRequest):
    """A request with a longer body than the server reads."""

    code = "body-too-large"
    title = message("The request is too large")
    http_status = 413


class NotAcceptable(BadRequest):
    """An `Accept` header that names no format of the answer."""

    code = "not-acceptable"
    title = message("No such format is offered")
    http_status = 406


class RangeNotSatisfiable(BadRequest):
    """A `Range` header that asks for bytes beyond the end of the document."""

    code = "range-not-satisfiable"
    title = message("The document is shorter")
    http_status = 416


class UntrustedHost(BadRequest):
    """A request for a host name that this server was not told to answer for."""

    code = "untrusted-host"
    title = message("This server does not answer for that host")
    http_status = 421


class NoBudget(BadRequest):
    """A dataset without a privacy budget: only the method `dp` has one."""

    code = "no-budget"
    title = message("There is no privacy budget")
    http_status = 404


class MethodNotAllowed(BadRequest):
    """An HTTP method that the address does not answer: tables are read, never written."""

    code = "method-not-allowed"
    title = message("This method is not offered")
    http_status = 405


class TooManyCalls(DiscreetError):
    """An account or an address called more often than it may; `retry_after` is the number of seconds to wait."""

    code = "too-many-calls"
    title = message("Too many calls")
    http_status = 429
    exit_code = EXIT_REFUSED

    def __init__(self, message: str, advice: str = "", *, retry_after: int = 1) -> None:
        super().__init__(message, advice)
        self.retry_after = retry_after


class Stopped(DiscreetError):
    """Somebody whom the watch of requests has stopped, since the questions look like an attack."""

    code = "stopped"
    title = message("Stopped by the watch of requests")
    http_status = 403
    exit_code = EXIT_REFUSED


class Busy(DiscreetError):
    """The server has too much to do at the moment; `retry_after` is the number of seconds to wait."""

    code = "busy"
    title = message("Too much to do")
    http_status = 503
    exit_code = EXIT_OURS

    def __init__(self, message: str, advice: str = "", *, retry_after: int = 1) -> None:
        super().__init__(message, advice)
        self.retry_after = retry_after


class UnknownDataset(DiscreetError):
    """A dataset that is not in the workspace."""

    code = "unknown-dataset"
    title = message("Unknown dataset")
    http_status = 404
    exit_code = EXIT_NOT_FOUND


class UnknownVersion(UnknownDataset):
    """A version that the dataset does not have."""

    code = "unknown-version"
    title = message("Unknown version")


class VersionClosed(DiscreetError):
    """An earlier version that is not answered beside the one that is served, or is not kept any more."""

    code = "version-closed"
    title = message("This version is not answered any more")
    http_status = 410
    exit_code = EXIT_REFUSED


class NotFound(DiscreetError):
    """A file, folder or page that is not there."""

    code = "not-found"
    title = message("Not found")
    http_status = 404
    exit_code = EXIT_NOT_FOUND


class Refused(DiscreetError):
    """A request that is understood and not answered, by a rule.

    A rule that has no class here gives its own `code`. `cacheable` is False where the answer may be another one
    tomorrow, or for somebody else.
    """

    code = "refused"
    title = message("This table is refused")
    http_status = 403
    exit_code = EXIT_REFUSED

    def __init__(
        self, message: str, advice: str = "", *, code: str | None = None, cacheable: bool = True
    ) -> None:
        super().__init__(message, advice)
        self.code = code or type(self).code
        self.cacheable = cacheable


class TooManyCells(Refused):
    """A table with more cells than the dataset releases at a time."""

    code = "too-many-cells"
    title = message("Too many cells")


class TooManyVariables(Refused):
    """A table that crosses more variables than the dataset allows."""

    code = "too-many-variables"
    title = message("Too many variables")


class GroupsOnGeography(Refused):
    """Free groups on a geography: unions of areas that differ by a sliver identify people."""

    code = "groups-on-geography"
    title = message("Geography cannot be regrouped")


class ForbiddenCombination(Refused):
    """Variables that may not be used together, or not in places so small."""

    code = "forbidden-combination"
    title = message("These variables may not be combined")


class MandatoryVariables(Refused):
    """A variable that may be used only together with others."""

    code = "mandatory-variables"
    title = message("A variable is missing")


class AreaTooSmall(Refused):
    """A table about areas whose public population figure is below the minimum."""

    code = "minimum-area-size"
    title = message("The area is too small")


class TooManyGroups(Refused):
    """Groups of one's own where none, or no more, are allowed."""

    code = "too-many-groups"
    title = message("No more groups of your own")


class NestedGroups(Refused):
    """A group that differs by a few categories from another one: the difference would be a sliver."""

    code = "nested-groups"
    title = message("The group is too close to another")


class TableNotReleased(Refused):
    """A table that fails the rules on noisy counts as a whole."""

    code = "table-not-released"
    title = message("The table is too sparse to be released")


class OutsideUniverse(Refused):
    """A table that no declared table of a differentially private dataset contains."""

    code = "outside-universe"
    title = message("Outside the declared tables")


class NotPublished(Refused):
    """A table that is not among those that were published, on a server that has no others."""

    code = "not-published"
    title = message("Not among the published tables")


class TooMuchToPublish(Refused):
    """A publication with more files or bytes than are allowed: nothing is written."""

    code = "too-much-to-publish"
    title = message("Too much to publish")


class BudgetSpent(DiscreetError):
    """A question that the privacy budget left does not pay for: nothing is computed and nothing is charged."""

    code = "budget-spent"
    title = message("The privacy budget does not allow this")
    http_status = 403
    exit_code = EXIT_BUDGET


class BadKey(DiscreetError):
    """An API key or a token that is not accepted: unknown, ended, revoked, or not to be checked just now."""

    code = "bad-key"
    title = message("The API key is not accepted")
    http_status = 401
    exit_code = EXIT_REFUSED


class NotAllowed(Refused):
    """An account whose role does not allow what it asks."""

    code = "not-allowed"
    title = message("Not allowed with this account")


class BadDescription(DiscreetError):
    """A `dataset.toml` that cannot be used."""

    code = "bad-description"
    title = message("The dataset description is not usable")
    http_status = 422
    exit_code = EXIT_USAGE


class BadData(DiscreetError):
    """Records that contradict their description, or a file that cannot be read."""

    code = "bad-data"
    title = message("The records do not fit their description")
    http_status = 422
    exit_code = EXIT_USAGE


class BadRecords(BadData):
    """Records that contradict their description: the first problems, and how many each variable has."""

    code = "bad-records"

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


class BadOption(DiscreetError):
    """An option with a value that it cannot have."""

    code = "bad-setting"
    title = message("An option is not usable")
    http_status = 500
    exit_code = EXIT_USAGE


class BadNoiseTable(DiscreetError):
    """A noise table with a gap, an overlap, a wrong sum or a wrong mean."""

    code = "bad-noise-table"
    title = message("The noise table is not usable")
    http_status = 500
    exit_code = EXIT_USAGE


class InfeasibleDesign(DiscreetError):
    """A noise table that cannot exist; the message names the bound that the wish breaks."""

    code = "infeasible-design"
    title = message("No such noise table exists")
    http_status = 422
    exit_code = EXIT_USAGE


class SecretUnusable(DiscreetError):
    """The secret is missing, too short, guessable or readable by others: nothing is answered."""

    code = "secret-unusable"
    title = message("The secret cannot be used")
    http_status = 503
    exit_code = EXIT_OURS


class WorkspaceUnusable(DiscreetError):
    """The workspace cannot be opened or is damaged: nothing is answered."""

    code = "workspace-unusable"
    title = message("The workspace cannot be used")
    http_status = 503
    exit_code = EXIT_OURS


class PublicationUnusable(DiscreetError):
    """A publication that is missing, damaged, foreign or not signed by the key that is trusted: nothing is answered."""

    code = "publication-unusable"
    title = message("The publication cannot be used")
    http_status = 503
    exit_code = EXIT_OURS


class SignatureUnusable(DiscreetError):
    """A signing key that cannot be used, or a signature that is not that of the key: what it signs is not believed."""

    code = "signature-unusable"
    title = message("The signature cannot be used")
    http_status = 503
    exit_code = EXIT_OURS


class RecordsAway(WorkspaceUnusable):
    """The records of a version are not there: their files are gone, or their database does not answer."""

    code = "records-away"
    title = message("The records are not here")


class LedgerUnusable(DiscreetError):
    """The ledger is missing, damaged, full or out of reach: nothing that must be charged is answered."""

    code = "ledger-unusable"
    title = message("The privacy ledger cannot be used")
    http_status = 503
    exit_code = EXIT_OURS


class ServerUnusable(DiscreetError):
    """A server that cannot be reached, is too busy, or gives no answer of Discreet."""

    code = "server-unusable"
    title = message("The server cannot be used")
    http_status = 502
    exit_code = EXIT_OURS


class MissingExtra(DiscreetError):
    """A feature whose optional packages are not installed."""

    code = "missing-extra"
    title = message("An optional package is missing")
    http_status = 501
    exit_code = EXIT_USAGE


def all_errors() -> list[type[DiscreetError]]:
    """Every error class, for the reference page and its test."""
    found: list[type[DiscreetError]] = []
    waiting: list[type[DiscreetError]] = [DiscreetError]
    while waiting:
        kind = waiting.pop(0)
        found.append(kind)
        waiting.extend(kind.__subclasses__())
    return found
