"""The page over a running system: defining, pushing, watching and steering in a browser."""

import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.qos.contracts import warmth
from penstock.server.configuration import resolved
from penstock.server.serve import Listeners
from penstock.server.service import Service
from tests.e2e.page.conftest import PATIENCE
from tests.e2e.support import rows_of, until

pytestmark = pytest.mark.spark

PREFIX = """CREATE STREAM {0} (ts TIMESTAMP, room STRING, celsius DOUBLE)
  TIMESTAMP BY ts SLACK INTERVAL 0 SECONDS FROM push();
"""
HOSTILE = "<img src=x onerror=window.caught=1>"


class Server:
    """A home that is served, and can be served again as after a restart."""

    def __init__(self, ps: Connection) -> None:
        """Serve on a free port."""
        self.ps, self.port = ps, 0
        self.start()

    def start(self) -> None:
        """Listen, on the same port again."""
        home = str(self.ps.system.home.path)
        self._service = Service(resolved({"home": home, "http.port": self.port}, {}))
        self._listeners = Listeners(self._service)
        self._listeners.start()
        self._service.open(self.ps)
        self.address = self._listeners.addresses()[0]
        self.port = int(self.address.rpartition(":")[2])

    def stop(self) -> None:
        """Listen no more."""
        self._service.stop()
        self._listeners.stop()
        self._service.close()

    def push(self, stream: str, *rows: tuple[int, str, float]) -> None:
        """Push rows by HTTP: second, room and temperature."""
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        told = [
            {"ts": (begin + timedelta(seconds=at)).isoformat(), "room": room, "celsius": celsius}
            for at, room, celsius in rows
        ]
        request = urllib.request.Request(
            f"{self.address}/v1/streams/{stream}/rows",
            json.dumps(told).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer) == {"accepted": len(rows)}


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("page") / "home"
    with pytest.MonkeyPatch.context() as patch, penstock.connect(home, spark=spark) as ps:
        patch.setattr(warmth, "WARM_SECONDS", 0.0)
        made = Server(ps)
        yield made
        made.stop()


def write(page: Page, server: Server, text: str) -> None:
    """Put a text into the editor."""
    page.goto(f"{server.address}/#/sql")
    editor = page.get_by_role("textbox", name="SQL")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def asked(ps: Connection, select: str) -> list[dict[str, Any]]:
    return rows_of(ps.sql(select).table)


def test_a_stream_and_a_query_are_written_and_rows_come_as_table_and_plot(
    page: Page, server: Server
) -> None:
    query = "CREATE QUERY hot AS SELECT ts, room, celsius FROM measured WHERE celsius > 20;"
    write(page, server, PREFIX.format("measured") + query)
    page.get_by_role("button", name="Run all").click()
    expect(page.get_by_text("query hot runs")).to_be_visible()
    page.goto(f"{server.address}/#/queries/hot")
    expect(page.get_by_text("rows come as they are delivered")).to_be_visible()
    server.push("measured", (0, "hall", 25.5), (1, HOSTILE, 31.0), (2, "hall", 5.0))
    expect(page.get_by_role("cell", name="25.5")).to_be_visible()
    expect(page.get_by_role("cell", name=HOSTILE)).to_be_visible()
    expect(page.locator(".plot canvas")).to_be_visible()
    expect(page.locator("figure select")).to_contain_text("celsius by ts, a line for each room")
    expect(page.locator(".rows tbody tr")).to_have_count(2)
    server.push("measured", (3, "hall", 26.0))
    expect(page.locator(".rows tbody tr")).to_have_count(3)
    assert page.evaluate("window.caught") is None


def test_an_error_is_underlined_at_its_place_and_a_plan_stands_beside(
    page: Page, server: Server
) -> None:
    server.ps.sql(PREFIX.format("wrong").replace(";", ""))
    write(page, server, "SHOW STREAMS;\n\nSELECT room,\n  celsus\nFROM wrong")
    underlined = page.locator(".cm-lintRange-error")
    expect(underlined).to_have_text("celsus")
    expect(page.locator(".explained")).to_contain_text("UNKNOWN_COLUMN")
    write(page, server, "SELECT room, celsius FROM wrong")
    expect(page.locator(".explained pre")).to_contain_text("wrong")
    expect(underlined).to_have_count(0)
    write(page, server, "SELECT FROM FROM wrong")
    page.keyboard.press("Control+Enter")
    expect(page.locator("section", has_text="Results").locator(".trouble")).to_contain_text(
        "SQL_SYNTAX"
    )


def test_names_and_columns_are_completed(page: Page, server: Server) -> None:
    server.ps.sql(PREFIX.format("completed").replace(";", ""))
    page.goto(f"{server.address}/#/streams")
    expect(page.get_by_text("completed").first).to_be_visible()  # the page knows of it by now
    write(page, server, "SELECT  FROM completed")
    expect(page.locator(".link")).to_contain_text("live")
    page.keyboard.press("Home")
    for _ in "SELECT ":
        page.keyboard.press("ArrowRight")
    page.keyboard.type("cels")
    # While it still asks for more the list is there already, and takes nothing.
    choices = page.locator(".cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)")
    option = choices.get_by_role("option", name=re.compile("celsius"))
    expect(option).to_have_attribute("aria-selected", "true")
    option.click()
    expect(page.locator(".cm-content")).to_contain_text("SELECT celsius FROM completed")


def test_a_contract_is_kept_broken_and_kept_again(page: Page, server: Server) -> None:
    ps = server.ps
    ps.script(PREFIX.format("promised"))
    ps.sql(
        "CREATE QUERY quick WITH (max_latency => INTERVAL 10 MINUTES) AS "
        "SELECT ts, celsius FROM promised"
    )

    def judged(verdict: str) -> Callable[[], bool]:
        def is_so() -> bool:
            server.push("promised", (n.pop(), "hall", 20.0))
            select = "SELECT verdict FROM system.qos WHERE query = 'quick'"
            return asked(ps, select) == [{"verdict": verdict}]

        return is_so

    n = list(range(1_000, 0, -1))
    until(ps, judged("kept"))
    page.goto(f"{server.address}/#/queries/quick")
    promise = page.locator(".facts .meter")
    expect(promise).to_contain_text("of 10 min, kept")
    page.get_by_role("button", name="Goals").click()
    page.get_by_label(re.compile("Latency at most")).fill("0.001")
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    until(ps, judged("broken"))
    expect(promise).to_contain_text("of 1 ms, broken")
    page.goto(f"{server.address}/#/overview")
    expect(page.locator(".attention")).to_contain_text("Query quick breaks its contract")
    ps.sql("ALTER QUERY quick SET (max_latency => INTERVAL 10 MINUTES)")
    until(ps, judged("kept"))
    expect(page.get_by_text("Query quick breaks its contract")).to_have_count(0)


def test_a_query_is_stopped_resumed_and_dropped(page: Page, server: Server) -> None:
    ps = server.ps
    ps.script(PREFIX.format("steered"))
    ps.sql("CREATE QUERY steady AS SELECT ts, celsius FROM steered")
    page.goto(f"{server.address}/#/queries/steady/plan")
    expect(page.locator("pre").first).to_contain_text("CREATE QUERY steady AS SELECT")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("pre").last).to_contain_text("steered")
    state = page.locator(".title .mark")
    page.get_by_role("button", name="Stop steady").click()
    expect(state).to_contain_text("stopped")
    page.get_by_role("button", name="Resume steady").click()
    expect(state).to_contain_text("running")
    page.get_by_role("button", name="Drop steady").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop").click()
    expect(page.get_by_role("heading", name="Queries")).to_be_visible()
    assert asked(ps, "SELECT query FROM system.queries WHERE query = 'steady'") == []


def test_the_strategy_is_switched(page: Page, server: Server) -> None:
    page.goto(f"{server.address}/#/overview")
    choice = page.get_by_label("Strategy")
    expect(choice).to_have_value("round_robin")
    choice.select_option("fifo")
    expect(page.locator(".notice")).to_be_visible()
    until(
        server.ps,
        lambda: asked(server.ps, "SELECT strategy FROM system.strategy") == [{"strategy": "fifo"}],
    )
    expect(choice).to_have_value("fifo")
    choice.select_option("need")
    until(
        server.ps,
        lambda: asked(server.ps, "SELECT strategy FROM system.strategy")[0]["strategy"].startswith(
            "need"
        ),
    )
    expect(choice).to_have_value("need")
    choice.select_option("round_robin")
    expect(choice).to_have_value("round_robin")


def test_the_graph_shows_the_way_of_rows_and_tells_of_a_unit(page: Page, server: Server) -> None:
    server.ps.script(PREFIX.format("drawn"))
    server.ps.sql("CREATE QUERY over_drawn AS SELECT ts, celsius FROM drawn WHERE celsius > 1")
    page.goto(f"{server.address}/#/graph?query=over_drawn")
    expect(page.locator(".node.chosen")).to_contain_text("over_drawn")
    for name in (r"stream drawn", r"query over_drawn"):
        expect(page.get_by_role("button", name=re.compile(f"^{name},"))).to_be_visible()
    unit = page.get_by_role("button", name=re.compile("^(unit|bundle) filter .celsius > 1"))
    unit.focus()
    page.keyboard.press("Enter")
    expect(page.locator("aside .operators")).to_contain_text("filter")
    expect(page.locator("aside pre")).to_contain_text("(`celsius` > 1)")
    expect(page.locator("aside")).to_contain_text("over_drawn")


def test_it_says_when_it_is_cut_off_and_comes_back_by_itself(page: Page, server: Server) -> None:
    ps = server.ps
    ps.script(PREFIX.format("lasting"))
    ps.sql("CREATE QUERY lasts AS SELECT ts, room FROM lasting")
    server.push("lasting", (0, "before", 1.0))
    page.goto(f"{server.address}/#/queries/lasts")
    expect(page.get_by_role("cell", name="before")).to_be_visible()
    server.stop()
    expect(page.locator(".old")).to_contain_text(re.compile("Connection lost .*Figures are"))
    server.start()
    expect(page.locator(".link")).to_contain_text("live")
    expect(page.locator(".old")).to_have_count(0)
    server.push("lasting", (1, "after", 2.0))
    expect(page.get_by_role("cell", name="after")).to_be_visible()
    expect(page.locator(".rows tbody tr")).to_have_count(2)  # none is lost, none is there twice


def test_one_sample_serves_all_pages(server: Server, page: Page) -> None:
    tabs = [page, *(page.context.new_page() for _ in range(3))]
    for tab in tabs:
        tab.goto(f"{server.address}/#/overview")
        expect(tab.locator(".link")).to_contain_text("live")
    found = "(await import('/page/lib/live.js')).snapshot().points.map((point) => point[0])"
    page.wait_for_function(f"async () => {found}.length > 5")
    times = [tab.evaluate(f"async () => {found}") for tab in tabs]
    end = min(each[-1] for each in times)  # what came while we asked is not with all of them
    first, *others = [[at for at in each if at <= end] for each in times]
    assert others == [first] * len(others)


def test_detections_come_into_the_timeline(page: Page, server: Server) -> None:
    server.ps.script(
        PREFIX.format("heated")
        + "CREATE EVENT heat AS SELECT room, celsius MASK celsius > 40 FROM heated;"
        + "CREATE EVENT lasting_heat AS SELECT a.room FROM (heat a SEQ heat b)"
        + "  WITHIN INTERVAL 1 HOUR;"
        + "CREATE QUERY of_heat AS SELECT * FROM lasting_heat;"
    )
    page.goto(f"{server.address}/#/events")
    expect(page.get_by_role("cell", name="lasting_heat")).to_be_visible()
    server.push("heated", (0, "hall", 50.0), (1, "hall", 51.0), (9, "hall", 1.0))
    detected = page.locator(".timeline li", has_text="lasting_heat was detected")
    expect(detected).to_have_count(1)
    page.goto(f"{server.address}/#/graph?event=lasting_heat")
    expect(page.locator(".node.events.chosen")).to_contain_text("lasting_heat")
    expect(page.locator("aside")).to_contain_text("1 detection")


def test_the_scene_of_the_demo_is_played_by_one_click(page: Page, server: Server) -> None:
    page.goto(f"{server.address}/#/sql")
    page.get_by_role("button", name="Play the demo's scene").click()
    results = page.locator("section", has=page.get_by_role("heading", name="Results"))
    expect(results).to_contain_text("rule call_police", timeout=4 * PATIENCE)
    page.goto(f"{server.address}/#/graph?query=fuel")
    expect(page.locator(".node.chosen")).to_contain_text("fuel")
