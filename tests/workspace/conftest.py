"""What tests of workspaces look at: the folder of the served version, and the numbers that it answers with."""

from discreet.model.request import TableRequest
from discreet.release.pipeline import release_table
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("sex",), ("age",))


def place_of(folder, dataset="town"):
    home = folder / "datasets" / dataset
    return home / (home / "current").read_text().strip()


def numbers(folder, request=REQUEST):
    workspace = Workspace(folder)
    try:
        return release_table(workspace.stored(request.dataset), request).values.tolist()
    finally:
        workspace.close()


def flip(path):
    """Change a bit in the middle of a file, where no hash of its ends sees it."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
