"""How the page looks and behaves, whatever runs: sizes, states, keys, tokens, accessibility."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from penstock.errors import SparkDiedError
from penstock.server.access import Role
from penstock.server.access.tokens import TokenFile, new_token
from tests.e2e.page.pictured import PicturedService, pictured

VIEWS = ("overview", "graph", "queries", "streams", "events", "sql")
PLACES = (*VIEWS, "queries/query_0000", "queries/query_0000/history", "streams/cars")
SERIOUS = ("serious", "critical")


@pytest.fixture
def calm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with pictured(tmp_path, monkeypatch) as (address, _):
        yield address


@pytest.fixture
def trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with pictured(tmp_path, monkeypatch, trouble=True) as (address, _):
        yield address


def shown(page: Page, address: str, place: str = "overview") -> None:
    """Go to a place, and wait until its figures are there."""
    page.goto(f"{address}/#/{place}")
    expect(page.locator(".link")).to_contain_text("live")
    expect(page.locator("main h1, main h2").first).to_be_attached()
    expect(page.get_by_text(re.compile("^Loading"))).to_have_count(0)


def faults(page: Page, axe: str) -> list[str]:
    """Return what axe finds that is serious."""
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("async () => await axe.run()")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_faults(page: Page, trouble: str, axe: str, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    found = {}
    for place in PLACES:
        shown(page, trouble, place)
        found[place] = faults(page, axe)
    assert found == {place: [] for place in PLACES}


@pytest.mark.parametrize("width", [360, 2560])
def test_nothing_is_wider_than_the_screen(page: Page, trouble: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    for place in PLACES:
        shown(page, trouble, place)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_trouble_is_told_first_with_its_cause_and_what_to_do(page: Page, trouble: str) -> None:
    shown(page, trouble)
    things = page.locator(".attention li")
    expect(things).to_have_count(5)
    expect(things.first).to_contain_text(re.compile("broken:"))
    held = things.filter(has_text="is held")
    expect(held).to_contain_text("no space is left")
    expect(held.get_by_role("button", name="Resume query_0006")).to_be_visible()
    expect(things.filter(has_text="dead letters").get_by_role("button")).to_have_text("Retry")
    top = things.first.bounding_box()
    assert top is not None
    assert top["y"] < 400


def test_the_promise_of_a_held_query_is_not_judged(page: Page, trouble: str) -> None:
    shown(page, trouble, "queries")
    row = page.get_by_role("row", name="query_0006")
    expect(row).to_contain_text("900 ms of 2 s")
    expect(row).not_to_contain_text("null")


def test_letters_of_the_graph_can_be_read_on_a_narrow_screen(page: Page, calm: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    shown(page, calm, "graph")
    title = page.locator(".node .name").first
    expect(title).to_be_visible()
    box = title.bounding_box()
    assert box is not None
    assert box["height"] > 8


def test_all_that_can_be_done_with_a_query_is_in_sight(page: Page, trouble: str) -> None:
    shown(page, trouble, "queries")
    for name in ("Drop query_0000", "Drop query_0006"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


def test_a_calm_system_says_so(page: Page, calm: str) -> None:
    shown(page, calm)
    expect(page.get_by_text("All is well")).to_be_visible()


def test_where_nothing_is_defined_every_view_says_so_and_how_to_begin(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        "overview": "Begin with an example",
        "graph": "Define a stream and a query",
        "queries": "Write one",
        "streams": "Define one",
        "events": "see one",
    }
    with pictured(tmp_path, monkeypatch, queries=0) as (address, _):
        for view, words in said.items():
            shown(page, address, view)
            expect(page.get_by_role("link", name=words)).to_be_visible()
        page.get_by_role("link", name=said["events"]).click()
        expect(page.locator(".cm-content")).to_contain_text("CREATE RULE note")


@pytest.mark.parametrize(
    "place", ["graph", "events", "streams/cars", "queries/query_0001/history", "sql"]
)
def test_what_the_server_refuses_is_told_with_its_code_and_hint(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    with pictured(tmp_path, monkeypatch) as (address, service):
        service.refusal = SparkDiedError("Spark has died", hint="start it again")
        shown(page, address, place)
        if place == "sql":
            page.get_by_role("textbox", name="SQL").click()
            page.keyboard.insert_text("SHOW STREAMS")
            page.keyboard.press("Control+Enter")
        trouble = page.locator(".trouble").first
        expect(trouble).to_contain_text("SPARK_DIED")
        expect(trouble).to_contain_text("start it again")
        if place != "sql":
            service.refusal = None
            trouble.get_by_role("button", name="Try again").click()
            expect(page.locator(".trouble")).to_have_count(0)


def test_a_thousand_queries_fold_into_their_bundles_and_one_is_found(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pictured(tmp_path, monkeypatch, queries=1000) as (address, _):
        shown(page, address, "graph")
        nodes = page.locator(".node")
        expect(nodes).to_have_count(6)
        page.get_by_label("Find", exact=True).fill("query_0777")
        page.get_by_role("button", name="Find", exact=True).click()
        expect(page.locator("aside").get_by_role("link", name="query_0777")).to_be_visible()
        expect(page).to_have_url(re.compile("query=query_0777"))
        shown(page, address, "queries?sort=-rows_out")
        expect(page.locator("tbody tr")).to_have_count(200)
        expect(page.locator("tbody tr").first).to_contain_text("query_0999")
        page.get_by_label("Name").fill("077")
        expect(page.locator("tbody tr")).to_have_count(11)
        expect(page).to_have_url(re.compile("q=077"))


def test_all_of_it_can_be_reached_by_keys(page: Page, calm: str) -> None:
    shown(page, calm)
    page.keyboard.press("/")
    page.keyboard.type("query_0003")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="query_0003")).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_role("heading", name="Graph")).to_be_visible()
    page.locator(".node").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("aside")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Keys")).to_have_count(0)


def has_curve(page: Page, label: str) -> None:
    """Wait until a curve of this name has more than one point."""
    line = page.get_by_role("img", name=label).locator("polyline").last
    expect(line).to_have_attribute("points", re.compile(r"\d \d"))


def test_queries_and_units_have_curves_of_their_last_minutes(page: Page, calm: str) -> None:
    shown(page, calm, "queries")
    row = page.get_by_role("row", name="query_0001")
    expect(row).to_contain_text("40 ms, 901 ms")
    has_curve(page, "Latency p50 and p99 of query_0001 over the last ten minutes")
    shown(page, calm, "queries/query_0001")
    has_curve(page, "Latency p50 and p99 of query_0001 over the last ten minutes")
    shown(page, calm, f"graph?node={'a' * 16}")
    has_curve(page, "Rows in a second over the last ten minutes")
    has_curve(page, "Share of the time at work over the last ten minutes")


def test_the_timeline_tells_of_detections(page: Page, calm: str) -> None:
    shown(page, calm, "events")
    line = page.locator(".timeline li", has_text="lasting_jam").first
    expect(line).to_contain_text("event lasting_jam was detected")
    page.get_by_label("Kind").select_option("event")
    expect(page.locator(".timeline li").first).to_contain_text("lasting_jam")


def test_the_view_that_is_open_stands_in_sight_where_the_row_of_views_is_wider(
    page: Page, calm: str
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    for view in VIEWS:
        shown(page, calm, view)
        expect(page.locator("nav.views [aria-current]")).to_be_in_viewport(ratio=1)
    shown(page, calm, "queries/query_0001/late")
    expect(page.locator("nav.tabs [aria-current]")).to_be_in_viewport(ratio=1)


def test_light_and_dark_follow_the_system_and_a_switch(page: Page, calm: str) -> None:
    light, dark = "rgb(247, 248, 249)", "rgb(16, 19, 23)"

    def ground_is(colour: str) -> None:
        expect(page.locator("html")).to_have_css("background-color", colour)

    shown(page, calm)
    ground_is(light)
    page.emulate_media(color_scheme="dark")
    ground_is(dark)
    switch = page.get_by_role("button", name=re.compile("Theme"))
    switch.click()
    expect(switch).to_have_accessible_name("Theme: light")
    ground_is(light)
    page.route("**/page/app.js", lambda route: route.abort())
    page.reload()
    ground_is(light)  # before anything is drawn
    page.unroute("**/page/app.js")
    page.reload()
    ground_is(light)
    switch.click()
    expect(switch).to_have_accessible_name("Theme: dark")
    page.emulate_media(color_scheme="light")
    ground_is(dark)


def test_a_token_is_asked_for_and_stays_out_of_addresses(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, token = new_token("reader", Role.READ, None)
    TokenFile(tmp_path).add(token)
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    with pictured(tmp_path, monkeypatch, trouble=True) as (address, service):
        page.goto(address)
        expect(page.get_by_role("heading", name="This server asks for a token")).to_be_visible()
        page.get_by_role("textbox", name="Token").fill("wrong")
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_text("UNAUTHENTICATED")).to_be_visible()
        page.get_by_role("textbox", name="Token").fill(secret)
        page.get_by_role("button", name="Enter").click()
        expect(page.locator(".link")).to_contain_text("live")
        expect(page.locator(".attention li")).to_have_count(5)
        # Who may only read sees no dead buttons.
        expect(page.get_by_role("button", name=re.compile("Resume|Retry"))).to_have_count(0)
        expect(page.get_by_label("Strategy")).to_have_count(0)
        page.reload()  # it lasts as long as the tab
        expect(page.locator(".attention li")).to_have_count(5)
        shown(page, address, "queries")
        expect(page.get_by_role("button", name=re.compile("Stop|Drop"))).to_have_count(0)
        assert isinstance(service, PicturedService)
    assert not [each for each in addresses if secret in each]
    assert secret not in json.dumps(page.evaluate("({...localStorage})"))


def test_what_is_destroyed_is_asked_for_once(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pictured(tmp_path, monkeypatch) as (address, service):
        shown(page, address, "queries/query_0001")
        drop = page.get_by_role("button", name="Drop query_0001")
        drop.click()
        expect(page.get_by_role("dialog")).to_contain_text("gone for good")
        page.get_by_role("button", name="Cancel").click()
        assert "DROP QUERY `query_0001`" not in service.asked
        drop.click()
        page.get_by_role("dialog").get_by_role("button", name="Drop").click()
        expect(page.get_by_role("heading", name="Queries")).to_be_visible()
        assert service.asked.count("DROP QUERY `query_0001`") == 1


def test_what_a_link_brings_into_the_editor_is_not_carried_out(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pictured(tmp_path, monkeypatch) as (address, service):
        shown(page, address, "sql?text=DROP%20QUERY%20query_0001")
        expect(page.locator(".cm-content")).to_contain_text("DROP QUERY query_0001")
        shown(page, address, "streams/cars")  # whatever it had sent would have come before this
        expect(page.get_by_role("region", name="Rows of cars")).to_be_visible()
        assert not [each for each in service.asked if "query_0001" in each]


def test_text_of_rows_stays_text(page: Page, calm: str) -> None:
    shown(page, calm, "streams/cars")
    cell = page.get_by_role("cell", name="<b>south</b>")
    expect(cell).to_be_visible()
    assert page.locator("td b").count() == 0


def test_numbers_of_rows_are_shown_as_they_are(page: Page, calm: str) -> None:
    page.goto(calm)
    written = '[9007199254740993, -9223372036854775808, 1e-9, 0.30000000000000004, 12, 1.5, "NaN"]'
    shown_as = page.evaluate(
        """async (written) => {
          const { readJson } = await import("/page/lib/api.js");
          const { valueText } = await import("/page/lib/format.js");
          return readJson(written).map(valueText);
        }""",
        written,
    )
    exact = ["9007199254740993", "-9223372036854775808", "1e-9", "0.3", "12", "1.5", "NaN"]
    assert shown_as == exact
