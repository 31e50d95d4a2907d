"""Tables built by drag, by keyboard, by touch and without scripts; groups, repairs, undo, 15,000 areas."""

from itertools import cycle

import pytest
from playwright.sync_api import expect

from .test_page import DESK, PHONE
from .waiting import settled, until, violations

pytestmark = pytest.mark.browser

THREE_WAY = "/datasets/people?rows=age&columns=sex&layers=region"


def numbers(page):
    return page.locator("table.grid td:not(.plot)").all_inner_texts()


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def taken_up(page, move):
    """Move a little until the page drags: what drags is fetched when the first hand presses."""
    steps = cycle((8, 9))
    until(page, lambda: move(next(steps)) or page.locator("html[data-dragging]").count())


def drag(page, what, to):
    """Press, move in steps and let go, as a hand does."""
    x, y = centre(page.locator(what))
    page.mouse.move(x, y)
    page.mouse.down()
    taken_up(page, lambda step: page.mouse.move(x + step, y))
    page.mouse.move(*centre(page.locator(to)), steps=8)
    page.mouse.up()


def touch_drag(page, what, there):
    """A finger: the events that the browser itself makes of a touch."""
    session = page.context.new_cdp_session(page)
    (x, y), (a, b) = centre(page.locator(what)), centre(page.locator(there))

    def to(x, y, kind="touchMove"):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})

    to(x, y, "touchStart")
    taken_up(page, lambda step: to(x + step, y))
    for step in range(1, 9):
        to(x + (a - x) * step / 8, y + (b - y) * step / 8)
        page.wait_for_timeout(16)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(300)  # no hand taps sooner


def tab_to(page, name):
    """Go on by Tab until a control has the focus, and by arrows within a list that is one stop."""
    inside = False
    for _ in range(150):
        if page.evaluate("document.activeElement.id") == name:
            return
        before, inside = (
            inside,
            page.evaluate(
                f"document.activeElement.closest('[data-module~=roving]')?.querySelector('#{name}') != null"
            ),
        )
        page.keyboard.press("Tab" if not inside else "ArrowDown" if before else "Home")
    pytest.fail(f"{name} is not reached by Tab")


@pytest.fixture
def expected(open_page):
    """The numbers of the three-way table as its address shows them."""
    return numbers(open_page(THREE_WAY))


def test_a_three_way_table_by_drag(open_page, expected):
    page = open_page("/datasets/people?rows=job", scripts=True, viewport=DESK)
    drag(page, '.var[data-variable="sex"] .name', '[data-shelf="columns"]')
    page.wait_for_url("**?rows=job&columns=sex")
    drag(page, '.var[data-variable="age"] .name', "#move-job")
    page.wait_for_url("**?rows=age,job&columns=sex")
    drag(page, '.var[data-variable="region"] .name', '[data-shelf="layers"]')
    page.wait_for_url("**?rows=age,job&columns=sex&layers=region")
    drag(page, "#move-job", "#find-variable")
    page.wait_for_url(f"**{THREE_WAY}")
    assert numbers(page) == expected
    # A drag that is let go beside the shelves changes nothing.
    drag(page, '.var[data-variable="job"] .name', "header.bar")
    page.wait_for_timeout(200)
    assert page.url.endswith(THREE_WAY)


def test_a_three_way_table_by_keyboard_alone(open_page, expected):
    page = open_page("/datasets/people?rows=job", scripts=True, viewport=DESK)
    for control, keys, address in (
        ("add-age", ["Enter"], "?rows=job&columns=age"),
        ("move-age", ["ArrowUp"], "?rows=job,age"),
        ("move-age", ["ArrowLeft"], "?rows=age,job"),
        ("add-sex", ["Enter"], "?rows=age,job&columns=sex"),
        ("add-region", ["Enter"], "?rows=age,job,region&columns=sex"),
        ("move-region", ["ArrowDown", "ArrowDown"], "?rows=age,job&columns=sex&layers=region"),
        ("move-job", ["Delete"], THREE_WAY),
    ):
        tab_to(page, control)
        for key in keys:  # the second is pressed before the first is answered
            page.keyboard.press(key)
        page.wait_for_url(f"**{address}")
        if control == "move-age":
            expect(page.locator("#move-age"), "the choice keeps its place").to_be_focused()
    assert numbers(page) == expected
    assert "numbers" in page.locator("#said").inner_text()


def test_a_three_way_table_by_touch_on_a_phone(open_page, expected):
    page = open_page(
        "/datasets/people?rows=job", scripts=True, viewport=PHONE, has_touch=True, is_mobile=True
    )
    assert page.locator("tbody tr").first.bounding_box()["y"] < 340, "the first thing is the table"
    assert not page.locator("#builder").is_visible()
    page.get_by_role("link", name="Change table").tap()
    touch_drag(page, '.var[data-variable="region"] .name', '[data-shelf="layers"]')
    page.wait_for_url("**?rows=job&layers=region")
    page.locator("#add-age").tap()
    page.wait_for_url("**?rows=job&columns=age&layers=region")
    touch_drag(page, "#move-age", "#move-job")
    page.wait_for_url("**?rows=age,job&layers=region")
    page.get_by_role("link", name="Remove Job").tap()
    page.wait_for_url("**?rows=age&layers=region")
    page.locator("#plus-columns > summary").tap()
    page.locator("#plus-columns").get_by_role("link", name="Sex").tap()
    page.wait_for_url(f"**{THREE_WAY}")
    assert page.locator("#builder").is_visible(), "what was opened stays open"
    page.get_by_role("link", name="Done").tap()
    assert not page.locator("#builder").is_visible()
    assert numbers(page) == expected


def test_group_keep_and_ungroup(open_page):
    page = open_page("/datasets/people?rows=origin&columns=sex", scripts=True)
    page.locator("#menu-origin summary").click()
    page.locator("#pick-origin").click()
    dialog = page.get_by_role("dialog", name="Country of birth")
    dialog.get_by_label("Country 1").check()
    dialog.get_by_label("Country 2").check()
    dialog.get_by_text("2 chosen").wait_for()
    dialog.get_by_label("as", exact=True).fill("Near <b>")
    dialog.get_by_role("button", name="Make group").click()
    dialog.get_by_role("link", name="Ungroup Near").wait_for()
    assert dialog.locator("#label-1").input_value() == "Near <b>", "the picker stays open"
    dialog.get_by_role("button", name="Show the table by groups").click()
    page.wait_for_url("**&group=origin=Near+%3Cb%3E%3A1%2B2,3,4*")
    assert page.locator("table.grid th[scope=row]").all_inner_texts() == [
        "Near <b>",
        "Country 3",
        "Country 4",
        "Total",
    ]
    grouped = page.url
    assert page.locator(".chip small").inner_text() == "1 group", "categories alone are no groups"
    page.locator("#menu-origin summary").click()
    page.locator("#pick-origin").click()
    settled(page)
    dialog.get_by_role("button", name="Keep these groups").click()
    dialog.get_by_role("link", name="Ungroup Near").click()
    dialog.get_by_role("link", name="Ungroup Near").wait_for(state="detached")
    dialog.get_by_role("link", name="Near <b>").click()
    page.wait_for_url(grouped)
    # Somebody else gets the groups by the address alone.
    other = open_page(grouped[grouped.index("/datasets") :])
    assert numbers(other) == numbers(page)


def test_categories_are_chosen_by_range_invert_and_search(open_page):
    page = open_page("/datasets/people?rows=sex", scripts=True)
    page.locator("#about-district summary").click()
    page.locator("#choose-district").click()
    dialog = page.get_by_role("dialog", name="District")
    expect(page.locator("#search-categories")).to_be_focused()
    page.keyboard.type("D01..D04")
    expect(dialog.get_by_role("checkbox")).to_have_count(4)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    dialog.get_by_role("button", name="Invert").click()
    dialog.get_by_text("3 chosen").wait_for()
    dialog.get_by_text("3 cells").wait_for()
    dialog.get_by_role("button", name="Count only these").click()
    page.wait_for_url("**?rows=sex&filter=district=D02,D03,D04")
    page.get_by_role("link", name="Remove the filter on District").click()
    page.wait_for_url("**?rows=sex")


def test_a_refused_table_is_repaired_by_its_advice(open_page):
    page = open_page("/datasets/people?rows=sex,age&columns=job", scripts=True, viewport=DESK)
    origin = page.locator('.var[data-variable="origin"]')
    assert "limit reached" in origin.inner_text(), "said before the click"
    assert page.locator("#add-origin").count() == 0
    drag(page, '.var[data-variable="origin"] .name', '[data-shelf="columns"]')
    repairs = page.locator(".repairs a")
    repairs.first.wait_for()
    assert "Country of birth" in page.locator(".ask [role=alert]").inner_text()
    assert repairs.all_inner_texts() == ["Remove Country of birth", "Remove Age", "Remove Job"]
    assert page.locator(".chip.bad").count() == 3, "what clashes is marked"
    last = page.locator("#last")
    assert "Persons by sex, age and job" in last.inner_text()
    assert last.locator("[inert] td").count() > 10, "the last table stays in sight"
    last.get_by_role("link", name="Back to this table").click()
    page.wait_for_url("**?rows=sex,age&columns=job")
    page.goto(page.url + ",origin")
    repairs.nth(1).click()
    page.locator("table.grid").first.wait_for()
    assert page.url.endswith("?rows=sex&columns=job,origin")


def test_undo_redo_back_reload_and_another_tab(open_page):
    page = open_page("/datasets/people?rows=sex", scripts=True)
    undo, redo = page.get_by_role("button", name="Undo"), page.get_by_role("button", name="Redo")
    expect(undo).to_be_disabled()
    page.locator("#find-variable").fill("jo")
    expect(page.locator(".var:visible")).to_have_count(1)
    page.locator("#add-job").click()
    page.wait_for_url("**?rows=sex&columns=job")
    shown = numbers(page)
    assert page.locator("#find-variable").input_value() == "jo", "what was typed stays"
    expect(page.locator(".var:visible")).to_have_count(1)
    page.get_by_role("link", name="Swap rows and columns").click()
    page.wait_for_url("**?rows=job&columns=sex")
    undo.click()
    page.wait_for_url("**?rows=sex&columns=job")
    expect(page.locator("table.grid td:not(.plot)")).to_have_text(shown)
    redo.click()
    page.wait_for_url("**?rows=job&columns=sex")
    expect(redo).to_be_disabled()
    page.go_back()
    page.wait_for_url("**?rows=sex&columns=job")
    page.reload()
    assert numbers(page) == shown
    expect(undo).to_be_enabled()
    assert numbers(open_page(page.url[page.url.index("/datasets") :])) == shown


def test_a_search_among_15000_areas_answers_with_a_bounded_list(open_page):
    page = open_page("/datasets/areas?rows=sex", scripts=True)
    page.locator("#about-area summary").click()
    page.locator("#choose-area").click()
    dialog = page.get_by_role("dialog", name="Small area")
    dialog.get_by_text("15,000 matches").wait_for()
    assert dialog.get_by_role("checkbox").count() == 200
    page.keyboard.type("area 1499")
    dialog.get_by_text("12 matches").wait_for()
    assert dialog.get_by_role("checkbox").count() == 12
    page.locator("#search-categories").fill("")
    dialog.get_by_text("15,000 matches").wait_for()
    page.locator("#search-categories").fill("region 7")
    dialog.get_by_role("button", name="Add all 500 Region 7").click()
    dialog.get_by_text("500 chosen").wait_for()
    dialog.get_by_role("button", name="Count only these").click()
    page.wait_for_url("**?rows=sex&filter=area=A03500..A03999")
    assert page.locator("table.grid td:not(.plot)").count() == 3


PEOPLE = "/datasets/people?rows="
STATES = {
    "menu": (
        f"{PEOPLE}district&columns=sex&filter=origin=2",
        ["#about-age > summary", "#menu-district > summary"],
    ),
    "picker with groups": (
        f"{PEOPLE}age&columns=sex&group=age=0-14%2B15-64",
        ["#menu-age > summary", "#pick-age"],
    ),
    "picker of levels": (f"{PEOPLE}district", ["#menu-district > summary", "#pick-district"]),
    "options": (f"{PEOPLE}age&columns=sex", ["#options > summary"]),
    "share": (f"{PEOPLE}age&columns=sex", ["#share > summary"]),
    "download": (f"{PEOPLE}age&columns=sex", ["#download > summary"]),
    "hostile picker": ("/datasets/hostile?rows=bad&columns=good", ["#about-bad > summary", "#choose-bad"]),
    "refused": (f"{PEOPLE}sex,age,job,origin", []),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_with_panels_open(open_page, scheme):
    states = (
        STATES
        if scheme == "light"
        else {name: STATES[name] for name in ("menu", "options", "share", "download", "picker with groups")}
    )
    for state, (address, clicks) in states.items():
        page = open_page(address, scripts=True, color_scheme=scheme)
        for control in clicks:
            page.locator(control).click()
        if "picker" in state:
            page.locator("#picker .matches").wait_for()
        rules = "{runOnly: ['color-contrast']}" if scheme == "dark" else "{}"  # nothing else depends on it
        assert violations(page, rules) == [], state


def test_the_builder_on_a_phone_stays_within_the_screen_with_panels_open(open_page):
    page = open_page(THREE_WAY, scripts=True, viewport=PHONE, has_touch=True)
    page.get_by_role("link", name="Change table").tap()
    page.locator("#menu-age summary").tap()
    page.locator("#pick-age").tap()
    page.locator("#picker .matches").wait_for()
    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1]
    assert page.locator("#picker").bounding_box()["width"] <= PHONE["width"]
