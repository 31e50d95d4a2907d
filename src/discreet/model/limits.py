"""Limits of size of descriptions, requests and tables, in one place.

A custodian may change the number of cells and variables of a table in `[protection]`; options of the server limit what
one process computes and sends (`discreet serve --help`). `rules/kinds/request_limits.py` enforces the limits of tables.
"""

# Tables.
#: The default of `max_cells`: cells of one table, totals included.
DEFAULT_MAX_CELLS = 2_000_000
#: The default of `max_variables`: crossed variables of one table, geography excluded.
DEFAULT_MAX_VARIABLES = 3
#: Published tables that a fitted table agrees with; all of them are computed for every fitted table.
MOST_TABLES_FITTED_TO = 8
#: Tables of rules that are cached per dataset.
MOST_RULE_TABLES = 1_000
#: Requests that the search for an allowed alternative tries: all edits of all edits of ten variables.
MOST_ALTERNATIVES = 2_000

# Requests.
#: Ranges, levels and patterns of one request; each searches all categories of its variable.
MOST_READ = 50
#: Categories that all searches of one request look at.
MOST_LOOKED_AT = 5_000_000
#: Characters of a group name.
LONGEST_NAME = 100
#: Labels that a mistyped word is compared with; more would take seconds.
MOST_LABELS_COMPARED = 10_000

# Descriptions.
#: Margins of a universe.
MOST_MARGINS = 5_000
#: Replicate weights; each is a column that every weighted table adds up.
MOST_REPLICATES = 1_000
#: Records per privacy unit.
MOST_RECORDS_PER_UNIT = 1_000
#: Characters of a label, or of any other text in quotes.
LONGEST_LABEL = 100_000
#: Bytes of a file of boundaries, and points in it.
MOST_BOUNDARY_BYTES = 32 * 1024 * 1024
MOST_POINTS = 1_000_000

# Files of records.
#: Columns of a file, and characters of the line that names them.
MOST_COLUMNS = 5_000
LONGEST_HEADER = 1 << 18
#: Bytes of one line of a text file, as DuckDB has it.
LONGEST_LINE = 2_000_000
#: Bytes of one text in a workbook; Excel has no more than 32,767 characters. Bytes of a workbook, unpacked.
LONGEST_TEXT = 1 << 20
MOST_WORKBOOK_BYTES = 4 << 30
#: A compressed file may be this many times larger when unpacked, or this many bytes.
MOST_RATIO = 200
MOST_UNPACKED_BYTES = 64 << 20
