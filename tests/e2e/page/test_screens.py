"""Screens of every view to be looked at: they are in build/page-screens once this has run.

Three sizes, light and dark: calm, in trouble and cut off, with one query and with a thousand.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.page.pictured import pictured
from tests.examples import IS_WHOLE

SCREENS = Path(__file__).parents[3] / "build" / "page-screens"
SIZES = {"narrow": (360, 740), "usual": (1280, 800), "wide": (2560, 1440)}
STATES = {"calm": (7, False), "trouble": (7, True), "one": (1, False), "thousand": (1000, True)}
VIEWS = ("overview", "graph", "queries", "streams", "events", "sql")
WHOLE = [*itertools.product(STATES, SIZES, ("light", "dark"))]
FEW = [("trouble", "narrow", "dark"), ("thousand", "usual", "light")]


def taken(page: Page, name: str) -> bytes:
    """Keep a screen, which has to be as wide as the window and no wider."""
    size = page.viewport_size
    assert size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
    return page.screenshot(path=SCREENS / f"{name}.png", animations="disabled")


@pytest.mark.parametrize(("state", "size", "scheme"), WHOLE if IS_WHOLE else FEW)
def test_screens_are_taken_to_be_looked_at(
    chromium: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    size: str,
    scheme: Any,
) -> None:
    queries, trouble = STATES[state]
    width, height = SIZES[size]
    viewport: Any = {"width": width, "height": height}
    context = chromium.new_context(viewport=viewport, color_scheme=scheme)
    page, name = context.new_page(), f"{state}-{size}-{scheme}"
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    with pictured(tmp_path, monkeypatch, queries=queries, trouble=trouble) as (address, service):
        seen = set()
        for view in VIEWS:
            page.goto(f"{address}/#/{view}")
            expect(page.locator(".link")).to_contain_text("live")
            expect(page.locator("main h1").first).to_be_attached()
            expect(page.get_by_text(re.compile("^Loading"))).to_have_count(0)
            if view == "sql":
                expect(page.locator(".cm-content")).to_be_visible()
            seen.add(taken(page, f"{name}-{view}"))
        page.goto(f"{address}/#/overview")
        expect(page.locator(".figures")).to_be_visible()
        service.stop()
        expect(page.locator(".old")).to_be_visible()
        seen.add(taken(page, f"{name}-lost"))
    context.close()
    assert len(seen) == len(VIEWS) + 1
    assert complaints == []
