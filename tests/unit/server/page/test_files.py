"""The page's files: what a browser is sent, and what it may do with them."""

import re
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from penstock.server.page.routes import FILES, STATIC, document, file

EXPORTED = r"export (?:async )?(?:function|const|class) (\w+)"
OWN = [path for path in FILES if not path.startswith("vendor/")]
DOORS = (
    *("innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySet", "srcdoc"),
    *("document.write", "eval(", "new Function"),
)
MODULES = [path for path in OWN if path.endswith(".js")]


def test_scripts_and_styles_come_from_here_alone() -> None:
    policy = document().headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_every_document_has_a_nonce_of_its_own_and_is_not_kept() -> None:
    nonces = set()
    for _ in range(3):
        answer = document()
        (nonce,) = re.findall(r"'nonce-([^']+)'", answer.headers["content-security-policy"])
        assert f'content="{nonce}"' in bytes(answer.body).decode()
        assert answer.headers["cache-control"] == "no-store"
        nonces.add(nonce)
    assert len(nonces) == 3


@pytest.mark.parametrize("path", ["app.js", "style.css", "icon.svg", "vendor/LICENSES.txt"])
def test_a_file_that_the_browser_has_is_not_sent_again(path: str) -> None:
    sent = file(path, "")
    assert bytes(sent.body) == (STATIC / path).read_bytes()
    again = file(path, sent.headers["etag"])
    assert (again.status_code, bytes(again.body)) == (304, b"")


@pytest.mark.parametrize(
    "path",
    ["../routes.py", "lib/../../routes.py", "/etc/passwd", "index.html", "lib", "", "app.js\0"],
)
def test_only_the_page_s_own_files_are_sent(path: str) -> None:
    with pytest.raises(HTTPException):
        file(path, "")


@pytest.mark.parametrize("path", OWN)
def test_nothing_is_fetched_from_elsewhere(path: str) -> None:
    text = (STATIC / path).read_text()
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
    assert addresses == set()


@pytest.mark.parametrize("path", MODULES)
def test_what_a_module_imports_is_there_is_exported_and_is_used(path: str) -> None:
    text = (STATIC / path).read_text()
    for names, target in re.findall(r"import (.+?) from \"(\.[^\"]+)\"", text):
        found = (STATIC / path).parent / target
        assert found.is_file(), target
        if not names.startswith("{"):
            continue
        pairs = [each.strip().split(" as ") for each in names.strip("{} ").split(",")]
        assert [pair[-1] for pair in pairs if len(re.findall(rf"\b{pair[-1]}\b", text)) < 2] == []
        if "vendor" not in target:
            exported = re.findall(EXPORTED, found.read_text())
            assert {pair[0] for pair in pairs} <= set(exported), target


@pytest.mark.parametrize("path", MODULES)
def test_no_text_becomes_markup_or_code(path: str) -> None:
    text = (STATIC / path).read_text()
    assert [door for door in DOORS if door in text] == []


def test_every_library_comes_with_its_licence() -> None:
    told = (STATIC / "vendor" / "LICENSES.txt").read_text()
    script = (Path(__file__).parents[4] / "scripts" / "vendor-page").read_text()
    (libraries,) = re.findall(r'^LIBRARIES="([^"]*)"', script, re.MULTILINE)
    for name, version in (each.rsplit("@", 1) for each in libraries.split()):
        assert f"## {name} {version} (" in told
