"""A server takes less memory: Arrow does not import pandas for it, and whoever wants pandas still finds it."""

import subprocess
import sys

import pytest

_ARROW = "import sys; import pyarrow as pa; pa.array(['a'])"
_LESS = "from discreet.server.memory import take_less_memory; take_less_memory()"
_TELL = "print('pandas' in sys.modules); import pandas; print(pandas.DataFrame({'a': [1]}).shape)"


def run(*statements):
    words = [sys.executable, "-c", "; ".join(statements)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")


@pytest.mark.slow
def test_arrow_does_not_import_pandas_and_a_program_still_can():
    """The wrong alternative is what Arrow does by itself."""
    assert run(_LESS, _ARROW, _TELL)[:2] == ["False", "(1, 1)"]
    assert run(_ARROW, _TELL)[:2] == ["True", "(1, 1)"]


def test_a_process_that_has_pandas_keeps_it():
    import pandas as pd

    from discreet.server.memory import arrow_without_pandas

    before = list(sys.meta_path)
    arrow_without_pandas()
    assert sys.modules["pandas"] is pd
    assert sys.meta_path == before
