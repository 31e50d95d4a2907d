"""A control is a link, and leads elsewhere unless it says that it does not."""

from discreet.server.control import Link


def test_a_link_leads_elsewhere_by_default():
    assert not Link("Swap", "/datasets/people?rows=sex").current
