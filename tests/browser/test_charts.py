"""Charts and maps in a real browser: every kind on the page, by keyboard, in both themes, on a phone."""

import pytest
from tests.web.conftest import running

from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.demo.geography import census_boundaries
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

from .waiting import violations

pytestmark = pytest.mark.browser
ROWS = 20_000
PHONE = {"width": 360, "height": 740}
KINDS = {
    "bars": "rows=region",
    "grouped": "rows=region&columns=sex",
    "stacked": "rows=birthplace&columns=sex",
    "lines": "rows=age&columns=sex",
    "pyramid": "rows=age&columns=sex",
    "heat_map": "rows=age&columns=employment",
    "multiples": "rows=employment&columns=sex&layers=birthplace",
    "dots": "rows=education&columns=sex",
}
MAPS = ("rows=region&show=map", "rows=district&columns=sex&percent=row&show=map")


@pytest.fixture(scope="module")
def base_url(tmp_path_factory, small_settings):
    """A small census with its map."""
    folder = tmp_path_factory.mktemp("mapped")
    for name, shapes in census_boundaries(ROWS, seed=2026).items():
        (folder / f"{name}.geojson").write_bytes(shapes)
    load_dataset(folder / "w", census_description(ROWS, mapped=True), census_batches(ROWS), beside=folder)
    with running(create_app(DatasetRegistry(Workspace(folder / "w", threads=1)), small_settings)) as address:
        yield address


@pytest.fixture
def open_page(chromium, base_url):
    """Open an address; what a page may not do, or does wrong, is noted."""
    contexts, wrong = [], []

    def opened(query, *, scripts=True, **options):
        context = chromium.new_context(java_script_enabled=scripts, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{base_url}/datasets/census?{query}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong, "a policy was broken, or a script failed"


def test_every_kind_and_map_is_drawn_speaks_and_is_accessible(open_page):
    """Every second one in the dark."""
    queries = [*(f"{asked}&show=chart&chart={kind}" for kind, asked in KINDS.items()), *MAPS]
    for number, query in enumerate(queries):
        scheme = ("light", "dark")[number % 2]
        page = open_page(query, color_scheme=scheme, viewport={"width": 1366, "height": 768})
        page.locator(".chart [tabindex='0'][data-cell]").wait_for(state="attached")
        marks = page.locator(".chart [data-cell]")
        assert marks.count() >= 10, query
        box = page.locator(".chart .canvas > svg").bounding_box()
        assert box["width"] > 300
        assert box["height"] > 150
        rules = "{runOnly: ['color-contrast']}" if scheme == "dark" else "{}"  # nothing else depends on it
        assert violations(page, rules) == [], (query, scheme)
        page.context.close()


def test_a_mark_tells_its_number_by_keyboard_and_leads_to_its_cell(open_page):
    """Wrong alternative: the cell of a neighbour, as where totals are not counted."""
    page = open_page("rows=region&columns=sex&show=chart&chart=grouped")
    first = page.locator(".chart [data-cell][tabindex='0']")
    first.wait_for(state="attached")
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    focused = page.evaluate(
        "() => [document.activeElement.getAttribute('aria-label'), document.activeElement.dataset.cell]"
    )
    assert page.locator(".chart .mark-tip").inner_text() == focused[0]
    assert page.locator(".chart [data-cell][tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    number = focused[0].partition(": ")[2].partition(";")[0]
    cell = page.locator("td.found")
    assert cell.inner_text().strip() == number
    label = cell.evaluate("cell => cell.closest('tr').querySelector('th').innerText")
    assert focused[0].startswith(label.strip())
    assert page.evaluate("() => document.activeElement.classList.contains('found')")


def test_the_pointer_shows_a_number_and_escape_hides_it(open_page):
    page = open_page("rows=region&show=map")
    page.locator(".chart [data-cell][tabindex='0']").wait_for(state="attached")
    page.locator(".chart [data-cell]").nth(4).hover()
    tip = page.locator(".chart .mark-tip")
    assert "the true number lies between" in tip.inner_text()
    page.locator(".chart [data-cell]").nth(4).focus()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_tabs_change_the_page_in_place_and_back_returns(open_page):
    page = open_page("rows=region&columns=sex")
    page.get_by_role("link", name="Chart", exact=True).click()
    page.locator(".chart svg[data-chart='grouped']").wait_for()
    assert "show=chart" in page.url
    page.get_by_role("link", name="Stacked bars").click()
    page.locator(".chart svg[data-chart='stacked']").wait_for()
    page.get_by_role("link", name="Map", exact=True).click()
    page.locator(".chart svg[data-chart='map']").wait_for()
    page.go_back()
    page.locator(".chart svg[data-chart='stacked']").wait_for()
    with page.expect_download() as download:
        page.locator("#download > summary").click()
        page.get_by_role("link", name="PNG", exact=True).click()
    assert download.value.suggested_filename == "census-region-by-sex.png"


def test_on_a_phone_and_without_scripts_the_picture_fits_and_its_words_are_there(open_page):
    page = open_page("rows=region&show=map", scripts=False, viewport=PHONE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.locator(".chart .canvas > svg").bounding_box()["width"] <= PHONE["width"]
    assert "The largest is" in page.locator("#chart-told").inner_text()
    assert page.locator(".pointer-hint").is_hidden()
    assert page.locator("table.grid").count() == 1
    page = open_page("rows=age&columns=sex&show=chart", viewport=PHONE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_dark_page_turns_the_colours_of_the_picture(open_page):
    """Wrong alternative: dark ink on dark ground."""
    fill = "() => getComputedStyle(document.querySelector('.chart text')).fill"
    light, dark = (
        open_page("rows=region&show=chart", color_scheme=scheme).evaluate(fill)
        for scheme in ("light", "dark")
    )
    assert light != dark
    bar = "() => getComputedStyle(document.querySelector('.chart [data-cell]')).fill"
    assert open_page("rows=region&show=chart", color_scheme="dark").evaluate(bar) == "rgb(79, 186, 199)"
