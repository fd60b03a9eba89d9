"""`penstock demo --serve`: the scene in its page, until Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.e2e.server.served import PATIENCE
from tests.e2e.support import until
from tests.examples import NIGHTLY

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]


@NIGHTLY
def test_the_demo_is_shown_in_its_page_until_somebody_ends_it(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    with said.open("w") as out:
        words = ("demo", "--serve", "--seconds", "10", "--port", "0")
        demo = subprocess.Popen(
            [sys.executable, "-m", "penstock", *words],
            stdout=out,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"},
        )
    try:
        until(said.read_text, lambda: "The page: " in said.read_text())
        found = re.search(r"The page: (\S+)", said.read_text())
        assert found is not None
        with httpx.Client(base_url=found[1], timeout=PATIENCE) as client:
            assert '<div id="app">' in client.get("/").text
            until(said.read_text, lambda: f"It goes on at {found[1]}" in said.read_text())
            told = client.post("/v1/sql", json={"sql": "SELECT query FROM system.queries"})
            assert {"query": "fuel"} in told.json()["results"][0]["rows"]
        demo.send_signal(signal.SIGINT)
        assert demo.wait(PATIENCE) == 0
    finally:
        demo.kill()
