"""The files of a workspace around its versions: schema number, dataset folders, the server's folder, descriptions.

    workspace.json                       {"schema": 1}, written by a load; without the file the schema is 1
    <workspace>/server/log/              the audit log (`web/audit/log.py`)
    <workspace>/server/shared.sqlite     rate limits and blocks, shared by all processes (`web/auth/rate_limit.py`)
    <workspace>/server/alerts.jsonl      alerts of the detectors

A newer schema than this program's is refused. The server's folder is in no backup; the option `state` names another one, for
a workspace that the server may only read.

A description is read with its code-list files: `categories_file = "areas.csv"` names a CSV in UTF-8 with the columns
`code`, `label` (by default the code) and `parent` (by default none). Its categories are inserted into the text before it is
parsed, so one text is loaded and sealed.

Source: docs/decisions/0007-versions.md.
"""

import csv
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import BadData, BadDescription, NotFound, UnknownDataset, WorkspaceUnusable
from discreet.model.file_io import toml_string
from discreet.model.messages.text import nearest
from discreet.records.engine import forget_records
from discreet.records.keys import Purpose, create_secret, read_secret
from discreet.workspace.options import read_options
from discreet.workspace.sealed import file_lock, fsync_path, replace_file
from discreet.workspace.versions.checkpoints import lock_checkpoints
from discreet.workspace.versions.history import VersionFacts, match_version, version_facts
from discreet.workspace.versions.version import current_digest

SCHEMA_FILE = "workspace.json"
SCHEMA = 1
#: Holds what a rotation of the secret replaces, until it has ended (`operate/rotate.py`).
RETIRING = "retiring"


def refuse_newer_workspace(folder: Path) -> None:
    """Refuse a workspace whose schema is newer or cannot be parsed, or whose secret is being rotated."""
    refuse_rotating(folder)
    try:
        schema = int(json.loads((folder / SCHEMA_FILE).read_text("utf-8"))["schema"])
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, KeyError):
        raise WorkspaceUnusable(
            f"The schema of the workspace ({SCHEMA_FILE}) cannot be read.",
            "Restore the file from your backup.",
        ) from None
    if schema > SCHEMA:
        raise WorkspaceUnusable(
            f"The workspace has schema {schema}, but this version of Discreet supports schemas up to {SCHEMA}.",
            "Use the newer version of Discreet that wrote the workspace.",
        )


def refuse_rotating(folder: Path) -> None:
    """Refuse a workspace between two secrets: a rotation is under way, or did not finish."""
    if (folder / RETIRING).exists():
        raise WorkspaceUnusable(
            "The secret of the workspace is being rotated, or a rotation was interrupted.",
            "Wait for `discreet secret rotate` to finish, or run it again to complete the rotation.",
        )


def write_schema(folder: Path) -> None:
    """Write the schema into a workspace that has none yet."""
    if not (folder / SCHEMA_FILE).exists():
        replace_file(folder / SCHEMA_FILE, json.dumps({"schema": SCHEMA}) + "\n", f".{SCHEMA_FILE}-")


def refuse_no_workspace(folder: Path) -> None:
    """Refuse a folder that is no workspace, or between two secrets."""
    refuse_rotating(folder)
    if not (folder / "datasets").is_dir():
        raise NotFound(f"{str(folder)!r} is not a workspace.", "Name one with --workspace.")


def dataset_folders(folder: Path) -> list[Path]:
    """The folders of all datasets that were ever loaded."""
    refuse_no_workspace(folder)
    return sorted(home for home in (folder / "datasets").iterdir() if home.is_dir())


def dataset_folder(folder: Path, dataset_id: str) -> Path:
    """The folder of a dataset; for an unknown id the error names the nearest match."""
    known = {home.name: home for home in dataset_folders(folder)}
    if dataset_id not in known:
        raise UnknownDataset(f'There is no dataset "{dataset_id}".', nearest(dataset_id, list(known)))
    return known[dataset_id]


def list_versions(home: Path) -> tuple[VersionFacts, ...]:
    """The versions of a dataset, the newest last."""
    return version_facts(home, current_digest(home), read_secret(home.parents[1] / "secret"))


def find_version(home: Path, word: str) -> VersionFacts:
    """The version that a custodian names, open or closed: by the first 8 or more letters of its digest, or its name."""
    return match_version(list_versions(home), word)


@contextmanager
def lock_dataset(home: Path) -> Iterator[None]:
    """Hold the lock of a dataset, so that no load runs; what killed commands left is removed first.

    Raises:
        WorkspaceUnusable: The secret is being rotated, or was rotated while this waited.
    """
    lock = file_lock(home / ".lock")
    with suppress(FileNotFoundError):  # a rotation moved the folder
        lock.acquire()
    try:
        refuse_rotating(home.parents[1])
        if not home.is_dir():
            raise WorkspaceUnusable(
                "The secret of the workspace was rotated while the command waited.", "Load the dataset again."
            )
        if find_leftovers(home):
            remove_leftovers(home)
        yield
    finally:
        lock.release()


#: How the names of temporary files and folders of a dataset begin.
TEMPORARY = (".loading-", ".replaced-", ".current-", ".history-", ".mark-")
#: A version while `move-engine` puts its copy in its place; the digest follows.
REPLACED = ".replaced-"


def find_leftovers(home: Path) -> list[Path]:
    """Temporary files and folders of a dataset; of a killed command unless one is running."""
    return sorted(path for path in home.iterdir() if path.name.startswith(TEMPORARY))


def remove_leftovers(home: Path) -> None:
    """Remove temporary files and folders of a dataset, whose lock the caller holds.

    A version that `move-engine` renamed gets its name back, unless its copy has the name.
    """
    for path in find_leftovers(home):
        place = home / path.name.removeprefix(REPLACED)
        if path.name.startswith(REPLACED) and not place.exists():
            path.rename(place)
        else:
            delete_records_folder(path)
    with lock_checkpoints(home):  # a running server may be writing a checkpoint
        for path in find_leftovers(home):
            path.unlink(missing_ok=True)
    fsync_path(home)


def delete_records_folder(folder: Path) -> None:
    """Delete a folder of records, and what an engine stores for it elsewhere."""
    if folder.is_dir():
        forget_records(folder)
        shutil.rmtree(folder, ignore_errors=True)


def folder_size(folder: Path) -> int:
    """The bytes below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def delete_version_folder(folder: Path) -> None:
    """Delete a version: the folder is renamed first, so that no reader sees half of it."""
    aside = folder.with_name(f".loading-{folder.name}")  # the next command deletes it if this process dies
    folder.rename(aside)
    forget_records(aside)
    shutil.rmtree(aside)


FOLDER = "server"
#: The secret of a server that serves a publication, which has none.
OWN_SECRET = "secret"  # noqa: S105 - the name of a file


def state_folder(folder: Path) -> Path:
    """The folder in which the server of a workspace writes."""
    named = read_options(folder).state
    return Path(named) if named else folder / FOLDER


def standalone_log_key(state: Path) -> bytes:
    """The log key of a server without a workspace; created once, next to the log."""
    create_secret(state / OWN_SECRET)
    return read_secret(state / OWN_SECRET).derive(Purpose.AUDIT_LOG)


def log_key(folder: Path) -> bytes:
    """The key that seals the audit log and hashes IP addresses in it."""
    return read_secret(folder / "secret").derive(Purpose.AUDIT_LOG)


_LINE = re.compile(r'^categories_file[ \t]*=[ \t]*("(?:[^"\\\n]|\\.)*")[ \t]*(#.*)?$', re.MULTILINE)
COLUMNS = ("code", "label", "parent")


def insert_code_lists(text: str, folder: Path) -> str:
    """The description with each `categories_file` replaced by the categories of that file."""
    return _LINE.sub(lambda found: _categories(folder / json.loads(found[1])), text)


def _categories(path: Path) -> str:
    if not path.is_file():
        raise NotFound(f"There is no file {str(path)!r}, which `categories_file` names.", "Check the path.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if "code" not in (rows.fieldnames or ()) or set(rows.fieldnames or ()) - set(COLUMNS):
                raise BadDescription(
                    f"{path.name} has the columns {', '.join(rows.fieldnames or ['none'])}.",
                    "Name them code, label and parent; the last two may be left out.",
                )
            listed = [_category(row, path, rows.line_num) for row in rows]
    except (UnicodeDecodeError, csv.Error):
        raise BadDescription(f"{path.name} is no CSV file in UTF-8.", "Save it as CSV in UTF-8.") from None
    return "categories = [\n" + "".join(f"  {each},\n" for each in listed) + "]"


def _category(row: dict[str, str | None], path: Path, line: int) -> str:
    if None in row.values() or None in row:
        raise BadDescription(
            f"Line {line} of {path.name} has too many or too few fields.", "Give every line the same fields."
        )
    given = {key: (value or "").strip() for key, value in row.items()}
    pairs = (f"{key} = {toml_string(value)}" for key, value in given.items() if value or key == "code")
    return f"{{ {', '.join(pairs)} }}"


USUAL_NAME = "dataset.toml"


def read_description(path: Path) -> str:
    """The text of a description, with the categories of its code-list files in it."""
    if not path.is_file():
        raise NotFound(f"There is no file {str(path)!r}.", "Draft one with `discreet describe`.")
    try:
        return insert_code_lists(path.read_text("utf-8-sig"), path.parent)
    except UnicodeDecodeError:
        raise BadDescription(
            f"{path.name} is not a text file in UTF-8.", "Save the description as plain text in UTF-8."
        ) from None


@contextmanager
def name_description_in_errors(path: Path) -> Iterator[None]:
    """Let error messages name the file that was read in place of `dataset.toml`.

    >>> from pathlib import Path
    >>> with name_description_in_errors(Path("town.toml")):
    ...     raise BadDescription("dataset.toml lacks id.", "Add it.")
    Traceback (most recent call last):
    discreet.errors.BadDescription: town.toml lacks id. Add it.
    """
    try:
        yield
    except (BadDescription, BadData) as error:
        error.message, error.advice = (
            text.replace(USUAL_NAME, path.name) for text in (error.message, error.advice)
        )
        raise
