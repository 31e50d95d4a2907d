"""The programs that ours are timed beside. They need not be installed.

Comes from: the extra `bench`. Goes to: the parts of the benchmark.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from discreet.errors import MissingExtra


def load_ons() -> tuple[Any, Any]:
    """The ONS package's function for a perturbed table, and the one that makes its noise table."""
    create = _load("cell_key_perturbation.create_perturbed_table", "The ONS package", "--no-ons")
    generate = _load("cell_key_perturbation.utils.generate_test_ptable", "The ONS package", "--no-ons")
    return create.create_perturbed_table, generate.generate_ptable_10_5_rule


def load_opendp() -> Any:
    """OpenDP."""
    return _load("opendp.prelude", "OpenDP", "--no-opendp")


def _load(module: str, name: str, option: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(
            f"{name} is not installed.", f'Install the extra: pip install "discreet[bench]", or add {option}.'
        ) from None
