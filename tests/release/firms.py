"""Invented firms with a turnover and a balance: one large firm, one firm alone, zeros, gaps and an empty cell."""

import numpy as np
import pyarrow as pa

FIRMS = """
id = "firms"
label = "Firms"
id_column = "firm"
unit = "firms"

[[variable]]
name = "region"
label = "Region"
categories = ["A", "B", "C", "D"]

[[variable]]
name = "sector"
label = "Sector"
categories = ["1", "2", "3", "4"]

[[measure]]
name = "turnover"
label = "Turnover"
unit = "EUR a year"
decimals = 2
lowest = 0
largest = 50_000_000
missing = ["-9"]

[measure.protection]
flex = { point = 100_000, small = 0.20, large = 0.05, power = 2 }
small = { D = 8, V = 3 }
sensitive = { p_percent = 10, extra = 0.5 }

[[measure]]
name = "balance"
decimals = 1
lowest = -100_000
largest = 100_000
"""


def firm_records(records=1_200, seed=5):
    random = np.random.RandomState(seed)
    region, sector = random.choice(list("ABC"), records), random.choice(list("123"), records)
    turnover = np.round(np.exp(random.normal(10, 1.5, records)), 2).astype(str).astype(object)
    turnover[random.random_sample(records) < 0.05] = "0"
    turnover[random.random_sample(records) < 0.05] = random.choice(["", "-9"])
    balance = np.round(random.normal(0, 1_000, records), 1).astype(str)
    region[:2], sector[:2] = ("A", "D"), ("1", "4")  # a very large firm, and one alone
    turnover[:2] = ("40000000", "123456.78")
    ids = [f"f{place}" for place in range(records)]
    return pa.table(
        {
            "firm": ids,
            "region": region,
            "sector": sector,
            "turnover": pa.array(turnover, pa.string()),
            "balance": balance,
        }
    )
