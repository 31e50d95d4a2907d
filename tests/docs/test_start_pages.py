"""The four paths of docs/start: every command runs in order as it is printed, and its figures are the program's."""

import re
import shlex

import pyarrow.csv as pc
import pytest

from discreet.noise import maxent
from discreet.web import run as web_run

from .pages import DOCS, ROOT, blocks, command_lines, run_python, text_of

ON_THE_DEMO = ("reader", "custodian", "researcher")
ORACLES = ROOT / "tests/oracles"


def commands(page):
    found = [shlex.split(line)[1:] for line in command_lines(page) if line.startswith("discreet ")]
    assert found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", ON_THE_DEMO)
def test_the_commands_of_a_path_run_in_order(path, demo, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    for words in commands(f"start/{path}.md"):
        done = run_here(*words, DISCREET_WORKSPACE=str(demo))
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.slow
def test_the_path_of_engineers_runs_in_order(town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    served = []
    monkeypatch.setattr(web_run, "serve", lambda *given: served.append(given))
    (tmp_path / "town.toml").write_text(town.description, "utf-8")
    pc.write_csv(town.records, "town.csv")
    for words in commands("start/engineer.md"):
        done = run_here(*words)
        assert done.returncode == 0, (words, done.stderr)
    assert len(served) == 1


@pytest.mark.parametrize("path", [*ON_THE_DEMO, "engineer"])
def test_a_path_takes_ten_minutes(path):
    """The minutes of its steps, and words that can be read in them at 100 a minute."""
    text = text_of(f"start/{path}.md")
    assert sum(int(n) for n in re.findall(r"^## .*\((\d+) minutes", text, re.MULTILINE)) == 10
    assert len(text.split()) < 1000


def test_a_difference_beyond_twice_the_largest_noise_is_real():
    """The rule of the reader's page, against every pair of counts near the edge."""
    assert "with D = 5 a difference above 10 is certain" in text_of("start/reader.md")
    noise = maxent(D=5, V=3, js=2)
    assert noise.largest == 5
    shown = {n: {n + v for v in noise.row(n).probabilities()} for n in range(60)}
    for small in range(40):
        for large in range(small + 1):  # the truth is the other way round, or equal
            assert not any(a - b > 10 for a in shown[large] for b in shown[small])
    assert any(a - b == 10 for a in shown[30] for b in shown[30])


def test_the_version_of_opendp_is_the_one_that_is_installed():
    (locked,) = re.findall(
        r"^opendp==([\d.]+)", (ROOT / "requirements/dev.txt").read_text("utf-8"), re.MULTILINE
    )
    assert f"OpenDP {locked}: `pip install opendp=={locked}`" in text_of("start/researcher.md")


@pytest.mark.parametrize(
    ("oracle", "figure", "printed"),
    [
        ("yang2012", 1.7148, "1.7148"),
        ("yang2012", 1.3203, "1.3203"),
        ("yang2012", 319.7073, "319.7073"),
        ("yang2012", 70, "n = 70"),
        ("sadeghi2022", 0.013165377565781, "0.013165"),
    ],
)
def test_a_figure_of_the_errata_is_that_of_the_fixture(oracle, figure, printed):
    assert printed in text_of("evidence/errata.md")
    text = (ORACLES / f"{oracle}.json").read_text("utf-8")
    assert any(float(n) == pytest.approx(figure, rel=1e-4) for n in re.findall(r"\d+\.?\d*", text))


def test_every_picture_of_the_tour_is_there_and_has_a_text_alternative():
    pages = {page: text_of(f"start/{page}.md") for page in (*ON_THE_DEMO, "tour")}
    pictures = [
        (alt, name) for text in pages.values() for alt, name in re.findall(r"!\[(.*?)\]\((.*?)\)", text)
    ]
    assert len(pictures) > 8
    for alt, name in pictures:
        assert len(alt) > 20
        assert (DOCS / "start" / name).is_file()


def test_the_first_page_of_known_limits_is_about_confidentiality_and_short():
    first = text_of("KNOWN_LIMITS.md").split("\n## ")[1]
    assert first.startswith("What is not promised about confidentiality")
    assert len(first.split()) <= 700
    assert "together" in first.split("\n2. ")[0]  # the most serious first


def test_the_worked_example_of_contributing_is_a_family():
    (code,) = blocks("CONTRIBUTING.md", "python")
    family = run_python("CONTRIBUTING.md", code)["FAMILY"]
    law = family.make(m=4).rows[-1].probabilities()
    assert {v: p * 25 for v, p in law.items()} == pytest.approx(
        {v: 5 - abs(v) for v in range(-4, 5)}, abs=1e-6
    )
    assert len(set(law.values())) == 5  # uniform noise is another family
