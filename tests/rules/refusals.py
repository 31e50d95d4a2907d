"""What the rules of shape say of a request, as a value."""

from discreet.errors import Refused
from discreet.rules.rule_set import refuse_by_rules


def first_refusal(*asked, **more):
    """The refusal of the first rule that does not allow a request; None where all do."""
    try:
        refuse_by_rules(*asked, **more)
    except Refused as refusal:
        return refusal
    return None
