"""Lines: numbers in their order; a missing number is a gap."""

import re

from discreet.pictures.charts import charts


def line_paths(picture):
    return re.findall(r'<g class="mark-line[^"]*"[^>]*><path[^>]* d="([^"]+)"', picture)


def test_a_number_that_is_withheld_is_a_gap_in_the_line(village, svg, hidden):
    """Wrong alternative: a bridge over the gap, which would look like a number."""
    release = village(rows="age")
    assert [path.count("M") for path in line_paths(svg(release, "lines"))] == [1]
    broken = svg(hidden(release, 2), "lines")
    assert [path.count("M") for path in line_paths(broken)] == [2]
    assert ">[c]</text>" in broken


def test_only_numbers_that_rise_have_an_order(village, see):
    lines = next(chart for chart in charts() if chart.name == "lines")
    assert lines.misfit(see(village(rows="age", columns="sex"))) is None
    assert lines.misfit(see(village(rows="job", columns="sex"))) is not None
    backwards = village(rows="age", groups={"age": [["20+"], ["10-14"], ["0-4"]]})
    labels = backwards.dimensions[0].labels
    rising = see(backwards).axes[0].ordered
    assert rising == (labels[0] == "0-4")
