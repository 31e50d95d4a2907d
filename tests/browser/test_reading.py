"""Reading a table in a real browser: order, percentages, layers, levels, intervals, a window over a large one, paper."""

import csv
import io
import re
from urllib.parse import unquote

import pypdf
import pytest

from .test_page import PHONE
from .waiting import settled, until, violations

pytestmark = pytest.mark.browser

#: 6,010 cells: six times what the fixture's page draws at once.
LARGE = "/datasets/crowd?rows=place&columns=kind"


def lines(page):
    """The rows of the table as text."""
    return page.locator("table.grid").first.evaluate(
        "table => [...table.querySelectorAll('tbody tr')].map(line => "
        "[...line.querySelectorAll('th, td:not(.plot)')].map(cell => cell.innerText))"
    )


def ready(page):
    """The page once its scripts have taken over the table."""
    page.locator("table[role=grid]").first.wait_for()
    return page


def part_shown(page, click):
    """What follows a click that changes the page, in place where it has scripts."""
    before = page.url
    scripts = page.locator("html[data-ready]").count()
    click()
    until(page, lambda: page.url != before)
    page.wait_for_load_state()
    if scripts:
        settled(page)


def choose(page, menu, name):
    """Open a menu above the table, and follow one of its links."""
    page.locator(f"#{menu} > summary").click()
    part_shown(page, page.locator(f"#{menu} .pop").get_by_role("link", name=name).first.click)


@pytest.mark.parametrize("scripts", [False, True])
def test_one_click_changes_order_percentages_names_and_axes(open_page, scripts):
    page = open_page("/datasets/people?rows=district&columns=sex", scripts=scripts)
    choose(page, "sort", "largest first")
    totals = [int(line[-1]) for line in lines(page)[:-1]]
    assert totals == sorted(totals, reverse=True)
    part_shown(page, lambda: page.locator("thead").get_by_role("link", name="Female").click())
    women = [int(line[2]) for line in lines(page)[:-1]]
    assert women == sorted(women, reverse=True)
    assert page.locator("thead [aria-sort=descending]").inner_text() == "Female"
    choose(page, "show", "Row %")
    assert "all of sex" in page.locator("p.base").inner_text()
    assert re.search(r"\d+\.\d %", page.locator("td:not(.plot)").first.inner_text())
    choose(page, "options", "Codes")
    assert re.fullmatch(r"D\d\d", page.locator("tbody th").first.inner_text())
    choose(page, "options", "Hide empty")
    assert "hide_empty=yes" in page.url
    shown = [[int(cell.split("\n")[0]) for cell in line[1:]] for line in lines(page)[:-1]]
    assert all(any(numbers) for numbers in shown)
    part_shown(page, lambda: page.get_by_role("link", name="Swap rows and columns").click())
    assert "rows=sex&columns=district" in page.url
    assert page.locator("tbody th").first.inner_text() == "1"
    part_shown(page, page.go_back)
    assert "rows=district" in page.url


@pytest.mark.parametrize("scripts", [False, True])
def test_layers_are_shown_one_by_one_under_their_names_or_all_of_them(open_page, scripts):
    page = open_page("/datasets/people?rows=sex&columns=age&layers=origin", scripts=scripts)
    heading = page.locator("h2.layer")
    assert (page.locator("table.grid").count(), heading.all_inner_texts()) == (1, ["Country 1"])
    assert page.get_by_role("link", name="Previous layer").count() == 0
    choose(page, "layers", "Country 3")
    assert heading.inner_text() == "Country 3"
    part_shown(page, lambda: page.get_by_role("link", name="Next layer").click())
    assert heading.inner_text() == "Country 4"
    part_shown(page, lambda: page.get_by_role("link", name="Previous layer").click())
    assert heading.inner_text() == "Country 3"
    part_shown(page, lambda: page.locator(".tools > .pager").get_by_role("link", name="All layers").click())
    assert heading.count() == page.locator("table.grid").count() == 5


def test_levels_close_and_open_by_keyboard_and_are_all_open_without_scripts(open_page):
    address = "/datasets/people?rows=district&columns=sex&levels=district=region,district"
    assert open_page(address).locator("tbody tr:visible").count() == 51
    page = ready(open_page(address, scripts=True))
    north = page.get_by_role("button", name="North")
    north.focus()
    page.keyboard.press("Enter")
    assert north.get_attribute("aria-expanded") == "false"
    assert page.locator("tbody tr:visible").count() == 51 - 24
    assert (
        page.get_by_role("rowheader", name="District 1", exact=True).is_visible()
        != page.get_by_role("rowheader", name="District 2", exact=True).is_visible()
    ), "the other region stays open"
    page.locator("#options > summary").click()
    page.get_by_role("button", name="Close all groups").click()
    assert page.locator("tbody tr:visible").count() == 3
    page.get_by_role("button", name="Open all groups").click()
    assert page.locator("tbody tr:visible").count() == 51


def test_a_cell_tells_its_interval_by_keyboard_mouse_and_tap(open_page, base_url):
    """Wrong: a `title`, which a keyboard and a finger never see."""
    query = "rows=age&columns=job"
    page = ready(open_page(f"/datasets/people?{query}", scripts=True))
    line = page.locator("#reading")
    assert "Select a number" in line.inner_text()
    page.locator(".scroll").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.locator("td:focus").count():
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    known = page.request.get(f"{base_url}/api/datasets/people/interval?{query}&cell=age=15-64,job=2").json()
    assert f"True count: {known['low']} to {known['high']} (95\u00a0% sure)" in line.inner_text()
    assert line.locator("[data-what]").inner_text().startswith("15-64 years, Farm: ")
    assert line.get_attribute("role") == "status"
    page.keyboard.press("ArrowUp")
    assert "cannot occur" in line.inner_text(), "why there is no number"
    assert not page.get_by_role("button", name="Compare").is_visible()
    page.keyboard.press("Control+End")
    assert page.locator("td:focus").inner_text() == page.locator("td:not(.plot)").last.inner_text()
    page.locator("td:not(.plot)").first.click()
    assert "True count" in line.inner_text()
    phone = open_page(
        f"/datasets/people?{query}", scripts=True, viewport=PHONE, has_touch=True, is_mobile=True
    )
    ready(phone).locator("td:not(.plot)").first.tap()
    assert "True count" in phone.locator("#reading").inner_text()


@pytest.mark.parametrize("by", ["keyboard", "mouse"])
def test_two_chosen_cells_are_compared_as_the_api_compares_them(open_page, base_url, by):
    page = ready(open_page("/datasets/people?rows=age&columns=sex", scripts=True))
    page.locator("td:not(.plot)").nth(3).focus()
    if by == "keyboard":
        page.keyboard.press("Enter")
        page.keyboard.press("ArrowRight")
        assert "select the number" in page.locator("#reading").inner_text()
        page.keyboard.press("Enter")
    else:
        page.get_by_role("button", name="Compare").click()
        page.locator("td:not(.plot)").nth(4).click()
    said_by_line = page.locator("#reading [data-answer]")
    said_by_line.nth(1).wait_for()
    assert page.locator("td[aria-selected=true]").count() == 2
    for place, word in enumerate(("minus", "over")):
        known = page.request.get(
            f"{base_url}/api/datasets/people/interval?rows=age&columns=sex&cell=age=15-64,sex=1&{word}=age=15-64,sex=2"
        ).json()
        said = said_by_line.nth(place).inner_text().replace("\N{MINUS SIGN}", "-")
        for name in ("estimate", "low", "high"):
            assert f"{known[name]:.4g}" in said
    page.get_by_role("button", name="Close", exact=True).click()
    assert page.locator("td[aria-selected=true]").count() == 0


def numbers(page, base_url, address):
    """The CSV's value by row and column code."""
    text = page.request.get(
        base_url + address.replace("/datasets", "/api/datasets").replace("?", "/table?") + "&format=csv"
    ).text()
    return {(line["place"], line["kind"]): line["value"] for line in csv.DictReader(io.StringIO(text))}


def in_sight(page):
    """What the window shows now, by row and column code; nothing while a block of it is on its way."""
    return page.locator(".windowed").evaluate(
        """region => {
          if (region.querySelector("tr[aria-busy]")) return [];
          const columns = [...region.querySelectorAll("thead th[data-cell]")].map(head => head.dataset.cell.split("=")[1]);
          return [...region.querySelectorAll("tbody tr")].flatMap(line => [...line.querySelectorAll("td")].map((cell, at) =>
            [line.querySelector("th").dataset.cell.split("=")[1], columns[at], cell.textContent]));
        }"""
    )


def test_a_window_over_a_large_table_shows_the_numbers_of_the_download_wherever_it_is(open_page, base_url):
    """Wrong: rows that are drawn again with the labels of others, or blocks of another table."""
    page = ready(open_page(LARGE, scripts=True))
    known = numbers(page, base_url, LARGE)
    region, table = page.locator(".windowed"), page.locator(".windowed table")
    assert (table.get_attribute("role"), table.get_attribute("aria-rowcount")) == ("grid", "603")
    assert table.get_attribute("aria-colcount") == "11"
    places = []

    def check(*, moved=True):
        def shown_now():
            shown = in_sight(page)
            return shown if shown and not (moved and places and shown[0][0] == places[-1]) else None

        shown = until(page, shown_now)
        assert 50 < len(shown) < 1000, "only what is in sight is drawn"
        assert [text.replace(",", "") for _, _, text in shown] == [
            known[row, column] for row, column, _ in shown
        ]
        places.append(shown[0][0])

    check()
    region.hover()
    page.mouse.wheel(0, 9000)
    check()
    page.locator(".windowed td").nth(80).click()
    page.keyboard.press("PageDown")
    check()
    focused = page.locator(".windowed td:focus")
    assert focused.count() == 1
    index = int(focused.locator("xpath=..").get_attribute("aria-rowindex"))
    page.keyboard.press("ArrowDown")
    assert (
        int(page.locator(".windowed td:focus").locator("xpath=..").get_attribute("aria-rowindex"))
        == index + 1
    )
    page.keyboard.press("Control+End")
    check()
    assert page.locator(".windowed td:focus").inner_text().replace(",", "") == known["_T", "_T"]
    assert len(set(places)) == 4
    page.keyboard.press("ArrowLeft")
    assert "True count" in page.locator("#reading").inner_text()
    assert re.search(r"Rows \d+–601 of 601", page.locator("#rows-shown").inner_text())
    page.mouse.wheel(0, -12000)
    check()
    assert page.locator(".windowed:focus").count() == 1, "the focus is not lost with its row"
    part_shown(page, lambda: page.locator("thead").get_by_role("link", name="Kind 3").click())
    check(moved=False)
    column = [int(text.replace(",", "")) for _, code, text in in_sight(page) if code == "k3"]
    assert column == sorted(column, reverse=True)


def test_the_head_of_a_window_stays_where_it_is_before_the_rows_are_drawn(open_page):
    """Wrong: a head that follows the drawn rows: a click on it right after a scroll meets a number, and is lost."""
    page = ready(open_page(LARGE, scripts=True))
    until(page, lambda: in_sight(page))
    away = page.locator(".windowed").evaluate(
        """region => [9000, 4000, 12000, 0].map(top => {
          region.scrollTop = top;
          return region.querySelector("thead").getBoundingClientRect().top - region.getBoundingClientRect().top;
        })"""
    )
    assert len(set(away)) == 1
    assert away[0] < 2


def test_a_heading_that_stays_in_sight_stays_the_same_element(open_page):
    """Wrong: a head that is made anew with each column: a press on it and its release meet two elements."""
    address = "/datasets/crowd?rows=kind&columns=place"
    page = ready(open_page(address, scripts=True))
    until(page, lambda: in_sight(page))
    region = page.locator(".windowed")
    region.evaluate("region => { region.scrollLeft = 900; }")
    page.locator("thead [aria-colindex='16']:not([data-cell=''])").wait_for(state="attached")
    region.evaluate("region => { window.kept = region.querySelector(\"thead [aria-colindex='12']\"); }")
    region.evaluate("region => { region.scrollLeft = 1300; }")
    page.locator("thead [aria-colindex='20']:not([data-cell=''])").wait_for(state="attached")
    assert page.evaluate("window.kept.isConnected")
    order = page.locator("thead [aria-colindex]").evaluate_all(
        "all => all.map(each => Number(each.ariaColIndex))"
    )
    assert order == sorted(order)


def test_the_columns_of_a_window_are_sorted_by_keyboard_and_the_focus_stays(open_page):
    page = ready(open_page(LARGE, scripts=True))
    until(page, lambda: in_sight(page))
    page.locator(".windowed td").nth(2).focus()
    page.keyboard.press("ArrowUp")
    assert page.locator("thead a:focus").inner_text() == "Kind 3"
    page.keyboard.press("ArrowRight")
    part_shown(page, lambda: page.keyboard.press("Enter"))
    assert "sort=-kind=k4" in unquote(page.url)
    until(page, lambda: in_sight(page))
    assert page.locator("thead a:focus").inner_text() == "Kind 4"
    page.keyboard.press("ArrowDown")
    assert page.locator(".windowed td:focus").get_attribute("aria-colindex") == "5"


def test_a_block_that_a_busy_server_refused_comes_later(open_page):
    page = ready(open_page(LARGE, scripts=True))
    until(page, lambda: in_sight(page))
    refused = []

    def busy_once(route):
        if refused:
            route.continue_()
        else:
            refused.append(route.request.url)
            route.fulfill(status=503)

    page.route("**/block?*from_row=300*", busy_once)
    page.locator(".windowed").evaluate("region => { region.scrollTop = 10000; }")
    until(page, lambda: refused)
    until(page, lambda: any(code == "p0320" for code, _, _ in in_sight(page)))


def test_what_is_pressed_while_an_answer_arrives_is_not_lost(open_page):
    """Wrong: the link is replaced between the press and the release, and there is no click."""
    page = ready(open_page("/datasets/people?rows=district&columns=sex", scripts=True))
    waiting = []
    page.route("**/datasets/people?*percent=row*", lambda route: waiting.append(route))  # noqa: PLW0108 - Playwright marks it
    tools = page.locator(".tools")
    page.locator("#show > summary").click()
    tools.get_by_role("link", name="Row %").click()
    until(page, lambda: waiting)
    page.locator("#options > summary").click()
    box = tools.get_by_role("link", name="Codes").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    waiting[0].continue_()
    page.wait_for_timeout(300)  # long enough for the answer; where it is not, nothing was to be lost
    page.mouse.up()
    until(page, lambda: "labels=codes" in page.url)


@pytest.mark.parametrize(
    "what", ["#show .pop a:not([aria-current])", "thead th:not(.corner) a", "#swap", "#add-job"]
)
def test_every_click_shows_within_150_milliseconds_that_an_answer_is_on_its_way(open_page, what):
    """The server is held back: what shows is the page's own doing, in the same task as the click."""
    page = ready(open_page("/datasets/people?rows=district&columns=sex", scripts=True))
    held = []
    page.route("**/datasets/people?*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    busy = page.locator(what).first.evaluate(
        """link => { link.click(); return [document.documentElement.hasAttribute("data-busy"),
          document.querySelector("table.grid").getAttribute("aria-busy"),
          document.querySelectorAll("a[aria-busy=true], summary[aria-busy=true]").length]; }"""
    )
    assert busy == [True, "true", 1]
    until(page, lambda: held)[0].continue_()
    settled(page)
    assert page.locator("[aria-busy=true]:not(tr)").count() == 0


def test_the_focus_stays_on_what_was_pressed(open_page):
    page = ready(open_page("/datasets/people?rows=district&columns=sex", scripts=True))
    page.locator("#show > summary").press("Enter")
    page.locator("#show").get_by_role("link", name="Row %").focus()
    part_shown(page, lambda: page.keyboard.press("Enter"))
    assert page.locator(":focus").inner_text().split() == ["Show", "Row", "%"], "its menu has closed"
    page.locator("thead").get_by_role("link", name="Female").focus()
    part_shown(page, lambda: page.keyboard.press("Enter"))
    assert page.locator(":focus").inner_text() == "Female"


def test_printing_a_window_prints_the_whole_table(open_page):
    page = ready(open_page(LARGE, scripts=True))
    page.keyboard.press("Control+p")
    page.wait_for_url("**/datasets/crowd/print?rows=place&columns=kind#now")
    assert page.locator("td:not(.plot)").count() == 6010


@pytest.mark.parametrize(
    ("address", "columns"),
    [
        ("/datasets/people?rows=sex&columns=district", [f"District {number}" for number in range(1, 49)]),
        (
            "/datasets/people/print?rows=origin&columns=district",
            [f"District {number}" for number in range(1, 49)],
        ),
        (
            "/datasets/crowd/print?rows=place&columns=kind",
            [*(f"Kind {k}" for k in range(1, 10)), "Place 600"],
        ),
    ],
)
def test_a_printed_table_has_every_column_the_note_and_the_citation(open_page, address, columns):
    """Wrong: what fits on the first sheet: 9 of 49 columns."""
    page = open_page(address)
    paper = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4")))
    texts = [re.sub(r"\s+", " ", sheet.extract_text()) for sheet in paper.pages]
    whole = " ".join(texts)
    assert [label for label in columns if not re.search(rf"\b{label}\b", whole)] == []
    assert "randomly adjusted" in whole
    assert "Totals are adjusted separately" in whole
    assert "version" in re.split("Cite as|Cite this table", whole)[1]
    if "crowd" in address:
        assert sum("Kind 1" in text for text in texts) > 10, "headers are repeated on every sheet"


STATES = {
    "percent": "/datasets/people?rows=age&columns=sex&percent=row&sort=-sex=1",
    "levels": "/datasets/people?rows=district&columns=sex&levels=district=region,district",
    "layers": "/datasets/people?rows=sex&columns=age&layers=region",
    "large": LARGE,
    "stacked": "/datasets/people?rows=district&columns=age,origin&layers=region&layer=all",
    "print": "/datasets/people/print?rows=sex&columns=district",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_in_any_state_and_no_page_scrolls_sideways(open_page, state, scheme):
    narrow = {"width": 640, "height": 400} if scheme == "dark" else PHONE  # 1280 pixels at 200 %, and a phone
    page = open_page(STATES[state], scripts=True, color_scheme=scheme, viewport=narrow)
    if state != "print":
        ready(page)
        if state in {"large", "stacked"}:
            until(page, lambda: in_sight(page))
            heights = page.locator(".windowed tr[aria-rowindex]:not(thead tr)").evaluate_all(
                "lines => lines.map(line => line.getBoundingClientRect().height)"
            )
            assert len(set(heights)) == 1, "a label that wraps would move all rows below it"
        page.locator("td:not(.plot)").nth(1).focus()
        page.keyboard.press("Enter")
        page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    if state == "levels":
        page.get_by_role("button", name="South").click()
    if state == "percent":
        page.locator("td:not(.plot)").nth(2).focus()
        page.keyboard.press("Enter")
        page.locator("#reading [data-answer]").nth(1).wait_for()
    # Of what axe finds, the contrast alone depends on the scheme.
    assert violations(page, "{runOnly: ['color-contrast']}" if scheme == "dark" else "{}") == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_first_rows_are_in_sight_without_scrolling(open_page):
    page = open_page("/datasets/people?rows=district&columns=sex", viewport={"width": 1366, "height": 768})
    assert page.locator("tbody tr").nth(4).bounding_box()["y"] < 768
