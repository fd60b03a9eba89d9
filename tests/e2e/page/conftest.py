"""A Chromium for the tests of the page, where there is one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PATIENCE = 30_000  # milliseconds for any one wait: the machine may be busy


@pytest.fixture(scope="module")  # its event loop must not outlive these tests
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: the package chromium of Debian is one")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Give a tab of its own; whatever a script or the policy complains of fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda said: _note(complaints, said.type, said.text))
    yield tab
    context.close()
    assert complaints == []


def _note(complaints: list[str], kind: str, text: str) -> None:
    is_network = "Failed to load resource" in text or "net::" in text  # tests provoke it
    # Chromium would keep the style of what is typed over, by an attribute that the policy refuses.
    is_typing = "Applying inline style" in text
    if kind == "error" and not is_network and not is_typing:
        complaints.append(text)


@pytest.fixture(scope="session")
def axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
