"""The database itself refuses a sum above its cap: no program that forgets to ask can overspend."""

import pytest
from sqlalchemy import create_engine, insert, update
from sqlalchemy.exc import IntegrityError

from discreet.ledger.tables import BUDGETS, CHARGES, METADATA, SHARES

CAPS = {"cap_loss": 10, "cap_failure": 5, "spent_loss": 10, "spent_failure": 0}


@pytest.fixture
def connection():
    engine = create_engine("sqlite://")
    METADATA.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(BUDGETS).values(family="f", rule="basic", neighbours="add-remove", **CAPS))
        connection.execute(insert(SHARES).values(family="f", account="ann", **CAPS))
        yield connection
    engine.dispose()


@pytest.mark.parametrize("table", [BUDGETS, SHARES], ids=["budgets", "shares"])
@pytest.mark.parametrize("column", ["spent_loss", "spent_failure"])
def test_a_sum_above_its_cap_cannot_be_written(connection, table, column):
    connection.execute(update(table).values(spent_failure=5))
    with pytest.raises(IntegrityError, match="within_cap"):
        connection.execute(update(table).values({column: table.c[column] + 1}))


def test_a_request_is_charged_once_to_a_budget(connection):
    row = {"family": "f", "request": "r", "loss": 1, "failure": 0, "what": "w", "at": "now"}
    connection.execute(insert(CHARGES).values(**row))
    with pytest.raises(IntegrityError, match="UNIQUE"):
        connection.execute(insert(CHARGES).values(**row))
