"""The tag of stored records depends on the secret and on the version's name."""

from discreet.records.record_tag import record_tag
from discreet.records.secret import Secret


def test_another_version_and_another_secret_have_another_tag(secret):
    tags = {record_tag(secret, "a" * 32), record_tag(secret, "b" * 32)}
    tags.add(record_tag(Secret(bytes(range(60, 92))), "a" * 32))
    assert len(tags) == 3
    assert record_tag(secret, "a" * 32) in tags


def test_it_is_no_other_value_that_the_secret_gives(secret):
    """The wrong alternative: the first line of `secret.check`, which stands beside the records for all to copy."""
    assert record_tag(secret, "a" * 32) != secret.derive("secret-check", "a" * 32).hex()
