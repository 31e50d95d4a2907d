"""What was put aside is removed however the program is ended."""

import signal

import pytest

from discreet.cli.signals import clean_up_on_signal


@pytest.fixture(autouse=True)
def as_before():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_end_is_that_of_ctrl_c(number):
    signal.signal(number, signal.SIG_DFL)
    clean_up_on_signal()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_signal_that_is_ignored_stays_so():
    """`nohup` ignores the closing of the terminal; the wrong alternative ends all the same."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    clean_up_on_signal()
    signal.raise_signal(signal.SIGHUP)
