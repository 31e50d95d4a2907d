"""CSV with PxWeb's parameters."""

import csv
import io

import pytest

from discreet.errors import BadRequest
from discreet.formats import named_format
from discreet.server.pxweb.csv_lines import Csv, read_csv


def rows(document, separator=","):
    return list(csv.reader(io.StringIO(document.decode()), delimiter=separator))


def test_without_a_parameter_it_is_our_own_csv(town_release):
    assert read_csv([]).write(town_release) == named_format("csv").write(town_release)


def test_codes_or_texts_alone_leave_the_numbers_as_they_are(town_release):
    whole = rows(Csv().write(town_release))
    codes = rows(read_csv(["UseCodes", "SeparatorTab"]).write(town_release), "\t")
    texts = rows(read_csv(["UseTexts", "SeparatorSemicolon"]).write(town_release), ";")
    assert codes[0] == ["age", "job", "sex", "value", "status"]
    assert texts[0] == ["age_label", "job_label", "sex_label", "value", "status"]
    assert [line[-2:] for line in codes] == [line[-2:] for line in texts] == [line[-2:] for line in whole]
    assert texts[1][:3] == [whole[1][1], whole[1][3], whole[1][5]]


def test_a_title_stands_above(town_release):
    assert rows(read_csv(["IncludeTitle"]).write(town_release))[0] == [town_release.title]


@pytest.mark.parametrize("words", [["UseCodes", "UseTexts"], ["SeparatorTab", "SeparatorSpace"]])
def test_what_contradicts_itself_is_refused(words):
    with pytest.raises(BadRequest, match="cannot be combined"):
        read_csv(words)
