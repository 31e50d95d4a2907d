"""The tables of a ledger, as this program writes them; `schema` says how older ledgers come to have them.

The names are those of the first ledger: a budget is called `family` and its composition `rule` in the database.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Integer, MetaData, String, Table

METADATA = MetaData()

#: Losses are whole numbers of `LOSS_UNIT`, failures of `FAILURE_UNIT`: sums are exact, caps are never passed by rounding.
BUDGETS = Table(
    "families",
    METADATA,
    Column("family", String(200), primary_key=True),
    Column("rule", String(16), nullable=False),
    Column("neighbours", String(16), nullable=False),
    Column("cap_loss", BigInteger, nullable=False),
    Column("cap_failure", BigInteger, nullable=False),
    Column("spent_loss", BigInteger, nullable=False, default=0),
    Column("spent_failure", BigInteger, nullable=False, default=0),
    CheckConstraint("spent_loss <= cap_loss AND spent_failure <= cap_failure", name="family_within_cap"),
)
SHARES = Table(
    "shares",
    METADATA,
    Column("family", String(200), ForeignKey("families.family"), primary_key=True),
    Column("account", String(200), primary_key=True),
    Column("cap_loss", BigInteger, nullable=False),
    Column("cap_failure", BigInteger, nullable=False),
    Column("spent_loss", BigInteger, nullable=False, default=0),
    Column("spent_failure", BigInteger, nullable=False, default=0),
    CheckConstraint("spent_loss <= cap_loss AND spent_failure <= cap_failure", name="share_within_cap"),
)
CHARGES = Table(
    "charges",
    METADATA,
    Column("family", String(200), ForeignKey("families.family"), primary_key=True),
    Column("request", String(64), primary_key=True),
    Column("account", String(200)),
    Column("loss", BigInteger, nullable=False),
    Column("failure", BigInteger, nullable=False),
    Column("what", String, nullable=False),
    Column("at", String(40), nullable=False),
    Column("position", BigInteger, unique=True),
)
#: Every change of the tables above and of two below is an entry with a keyed tag (`chain`).
CHAIN = Table(
    "chain",
    METADATA,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("body", String, nullable=False),
    Column("tag", String(64), nullable=False),
)
#: One version, one set of records: noise that came again exactly where records did would tell whether they changed.
VERSIONS = Table(
    "versions",
    METADATA,
    Column("dataset", String(64), primary_key=True),
    Column("version", String(200), primary_key=True),
    Column("family", String(200), nullable=False),
    Column("records", String(64), nullable=False),
)
#: One lineage, one method and one budget, for ever: whether its folders are still there or not.
LINEAGES = Table(
    "lineages",
    METADATA,
    Column("dataset", String(200), primary_key=True),
    Column("lineage", String(200), primary_key=True),
    Column("method", String(16), nullable=False),
    Column("family", String(200), nullable=False),
)
ACCOUNTS = Table(
    "accounts",
    METADATA,
    Column("account", String(200), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("created", String(40), nullable=False),
    Column("revoked", String(40)),
)
#: The keys of accounts, as hashes. `datasets` is a list as JSON, or nothing for all of them.
KEYS = Table(
    "api_keys",
    METADATA,
    Column("key_hash", String(64), primary_key=True),
    Column("account", String(200), ForeignKey("accounts.account"), nullable=False),
    Column("role", String(16), nullable=False),
    Column("datasets", String),
    Column("created", String(40), nullable=False),
    Column("expires", String(40)),
    Column("revoked", String(40)),
)
#: Groups of their own that accounts have made; each counts once (`group_meter`).
GROUPS = Table(
    "free_groups",
    METADATA,
    Column("account", String(200), primary_key=True),
    Column("dataset", String(64), primary_key=True),
    Column("variable", String(64), primary_key=True),
    Column("members", String(64), primary_key=True),
)
#: One row: the schema of the ledger. Ledgers that were made before schemas had numbers lack the table.
SCHEMA = Table("ledger_schema", METADATA, Column("schema", Integer, primary_key=True, autoincrement=False))
