"""The tag of stored records: a keyed name of their version, kept beside them.

    tag = HKDF(secret; "records-tag", digest)

Another version's records have another tag, and nobody without the secret can make one. An engine keeps the tag where
it keeps the records and gives it back at constant cost; whoever opens a version compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.records.secret import Secret


def record_tag(secret: Secret, digest: str) -> str:
    """The tag of the records of a version.

    Args:
        secret: The workspace's.
        digest: The version's name, which covers its records, description, noise and revisions.
    """
    return secret.derive("records-tag", digest).hex()
