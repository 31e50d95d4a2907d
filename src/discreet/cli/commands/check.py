"""`discreet check`: what a load would say about a file and its description, without a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.ending import clean_up_when_ended
from discreet.cli.options import OutcomeOption
