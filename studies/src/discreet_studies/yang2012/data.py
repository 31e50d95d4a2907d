"""The data of the paper: its Tables 3 to 6, counted.

Source: Yang, Fienberg & Rinaldo (2012), section 4.
"""

from discreet_studies.exhibit import Effort, Exhibit, Finding
from discreet_studies.yang2012.runs import dataset


def table_3(_effort: Effort) -> Exhibit:
    """Edwards' fungus table: one printed cell is wrong."""
    counts = dataset("edwards").table.counts
    as_printed = counts.copy()
    as_printed[0, 1, 1, 1, 1, 1] = 1
    return Exhibit(
        "table 3",
        "Genetic linkage in barley powder mildew fungus (Edwards), 2⁶ cells",
        (
            Finding("offspring (text)", 70, int(counts.sum())),
            Finding(
                "offspring in the printed cells",
                70,
                int(as_printed.sum()),
                why="Cell (1,2,2,2,2,2), the last of row 4, is printed as 1; it is 11 in the source, and then n = 70.",
            ),
            Finding("non-zero cells", 22, int((counts > 0).sum())),
        ),
        note="All that follows uses the table with the cell corrected, n = 70.",
    )


def table_4(_effort: Effort) -> Exhibit:
    """Czech autoworkers."""
    counts = dataset("czech").table.counts
    small = int(((counts > 0) & (counts <= 5)).sum())
    return Exhibit(
        "table 4",
        "Czech autoworkers (Edwards & Havránek), 2⁶ cells",
        (Finding("workers", 1841, int(counts.sum())), Finding("cells of 1 to 5", 14, small)),
        note='"14 cells having values of 5 or less" does not count the one empty cell.',
    )


def table_5(_effort: Effort) -> Exhibit:
    """Rochdale."""
    counts = dataset("rochdale").table.counts
    return Exhibit(
        "table 5",
        "Women's economic activity in Rochdale (Whittaker), 2⁸ cells",
        (
            Finding("households", 665, int(counts.sum())),
            Finding("empty cells", 165, int((counts == 0).sum())),
            Finding("cells of 1 to 4", 58, int(((counts > 0) & (counts <= 4)).sum())),
        ),
    )


def table_6(_effort: Effort) -> Exhibit:
    """Journey to work."""
    counts = dataset("journey").table.counts
    return Exhibit(
        "table 6",
        "Journey to work by income (Fienberg & Love), 4 × 4 × 16 cells",
        (
            Finding("people", 2291, int(counts.sum())),
            Finding(
                "empty cells",
                183,
                int((counts == 0).sum()),
                why="The printed table has 182 empty cells; its total, 2,291, agrees with the text.",
            ),
        ),
    )
