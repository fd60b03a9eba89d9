"""HTTP as its clients meet it, over one small system."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
import websockets.sync.client as websocket
from pyspark.sql import SparkSession
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from penstock.errors import PenstockError
from penstock.server.access.caller import Role
from tests.e2e.server.served import PATIENCE, Event, Served, events, served, sql

pytestmark = pytest.mark.spark
ROLES = {
    "admin": (Role.ADMIN, None),
    "write": (Role.WRITE, None),
    "read": (Role.READ, None),
    "of_mine": (Role.WRITE, ["mine"]),
}
LIMITS = {"limits_body": "1MiB", "limits_answer": "1MiB", "limits_subscribers": "20"}
SCRIPT = """
CREATE STREAM s (id BIGINT, v DOUBLE, name STRING, at TIMESTAMP, raw BINARY, cost DECIMAL(10,2),
                 ok BOOLEAN, tags ARRAY<STRING>) FROM push();
CREATE STREAM mine (id BIGINT) FROM push();
CREATE STREAM keyed (id BIGINT) FROM push();
CREATE QUERY all_of_s AS SELECT * FROM s;
CREATE QUERY of_mine AS SELECT * FROM mine;
CREATE QUERY of_keyed AS SELECT * FROM keyed;
"""
ROW = {
    "id": 2**62,
    "v": 0.1,
    "name": 'a "b",\n',
    "at": "2026-01-02T03:04:05.678901Z",
    "raw": "AAH/",
    "cost": 12.34,
    "ok": True,
    "tags": ["x", "y"],
}


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served") / "home", spark, LIMITS, ROLES) as made:
        with made.client("admin") as client:
            sql(client, SCRIPT)
        yield made


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client("admin") as made:
        yield made


def code(response: httpx.Response) -> tuple[int, str]:
    error = response.json()["error"]
    assert error.keys() == {"code", "message", "hint", "line", "column"}
    return response.status_code, error["code"]


def push(client: httpx.Client, stream: str, body: bytes, kind: str, **headers: str) -> Any:
    told = {"Content-Type": kind, **headers}
    return client.post(f"/v1/streams/{stream}/rows", content=body, headers=told)


def follow(client: httpx.Client, query: str, count: int, **headers: str) -> list[Event]:
    """Return the next rows of a query."""
    found: list[Event] = []
    with client.stream("GET", f"/v1/queries/{query}/rows", headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        for event in events(response):
            found.append(event)
            if len(found) == count:
                return found
    return found


# -- statements ----------------------------------------------------------------------------------


def test_each_statement_of_a_script_gives_its_result(client: httpx.Client) -> None:
    made, rows, dropped = sql(
        client,
        "CREATE QUERY passing AS SELECT id FROM s; SELECT 1 AS a, NULL AS b; DROP QUERY passing",
    )
    assert made["rows"] == []
    assert "passing" in made["message"]
    assert rows == {"columns": ["a", "b"], "types": ["int", "void"], "rows": [{"a": 1, "b": None}]}
    assert "passing" in dropped["message"]


def test_rows_come_in_the_form_that_is_accepted(client: httpx.Client) -> None:
    def ask(accept: str) -> httpx.Response:
        text = "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL ORDER BY a"
        return client.post("/v1/sql", json={"sql": text}, headers={"Accept": accept})

    assert ask("text/csv").text == "a,b\n1,x\n2,\n"
    assert ask("application/x-ndjson").text == '{"a":1,"b":"x"}\n{"a":2,"b":null}\n'
    table = pa.ipc.open_stream(ask("application/vnd.apache.arrow.stream").content).read_all()
    assert table.to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert ask("text/csv;q=0.1, application/json").headers["content-type"] == "application/json"
    assert code(ask("image/png")) == (400, "BAD_REQUEST")


def test_a_change_is_not_done_where_rows_alone_are_accepted(client: httpx.Client) -> None:
    text = "CREATE STREAM unmade (id INT) FROM push()"
    response = client.post("/v1/sql", json={"sql": text}, headers={"Accept": "text/csv"})
    assert code(response) == (400, "BAD_QUERY")
    assert "unmade" not in str(sql(client, "SHOW STREAMS"))


@pytest.mark.parametrize(
    ("text", "status", "expected", "place"),
    [
        ("SELECT\n  FRM s", 400, "UNKNOWN_COLUMN", None),
        ("SELEC 1", 400, "SQL_SYNTAX", (1, 1)),
        ("SELECT 1;\n SELECT * FROM nothing", 400, "UNKNOWN_NAME", (2, 16)),
        ("CREATE STREAM s (id INT) FROM push()", 409, "NAME_TAKEN", (1, 1)),
        ("DROP STREAM s", 409, "IN_USE", (1, 1)),
        ("SELECT reflect('java.lang.Math', 'abs', 1)", 403, "NOT_ALLOWED", None),
        (
            "CREATE RULE r ON all_of_s DO command(program => '/bin/true')",
            403,
            "NOT_ALLOWED",
            None,
        ),
    ],
)
def test_errors_have_the_codes_and_places_of_the_shell(
    server: Served,
    client: httpx.Client,
    text: str,
    status: int,
    expected: str,
    place: tuple[int, int] | None,
) -> None:
    response = client.post("/v1/sql", json={"sql": text})
    assert code(response) == (status, expected)
    error = response.json()["error"]
    assert place is None or (error["line"], error["column"]) == place
    with pytest.raises(PenstockError) as raised:
        server.connection.sql(text)
    assert (raised.value.code, raised.value.message) == (error["code"], error["message"])
    assert raised.value.hint == error["hint"]


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b'{"sql": "SELECT 1"}', "text/plain", (400, "BAD_REQUEST")),
        (b"{", "application/json", (400, "BAD_REQUEST")),
        (b"\xff\xfe", "application/json", (400, "BAD_REQUEST")),
        (b"[1]", "application/json", (400, "BAD_REQUEST")),
        (b'{"sql": 1}', "application/json", (400, "BAD_REQUEST")),
        (b"[" * 100_000, "application/json", (400, "BAD_REQUEST")),
        (b'{"sql": "' + b"x" * (1 << 20), "application/json", (413, "TOO_LARGE")),
    ],
)
def test_a_body_that_is_no_statement_is_told(
    client: httpx.Client, body: bytes, kind: str, expected: tuple[int, str]
) -> None:
    response = client.post("/v1/sql", content=body, headers={"Content-Type": kind})
    assert code(response) == expected


def test_an_answer_that_is_too_large_is_refused(client: httpx.Client) -> None:
    text = "SELECT repeat('x', 1000) AS x FROM range(5000)"
    assert code(client.post("/v1/sql", json={"sql": text})) == (413, "TOO_LARGE")
    wanted = {"Accept": "text/csv"}
    assert code(client.post("/v1/sql", json={"sql": text}, headers=wanted)) == (413, "TOO_LARGE")


ENDLESS = "SELECT count(*) AS n FROM range(100000000000) WHERE id % 7 = hash(id) % 5"


def eventually(holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_a_statement_that_takes_long_tells_of_itself_and_can_be_cancelled(server: Served) -> None:
    said: list[Event] = []

    def ask() -> None:
        with (
            server.client("read") as client,
            client.stream(
                "POST",
                "/v1/sql",
                json={"sql": ENDLESS},
                headers={"Accept": "text/event-stream", "X-Request-Id": "endless-1"},
            ) as response,
        ):
            for event in events(response):
                said.append(event)

    asking = threading.Thread(target=ask)
    asking.start()
    with server.client("read") as client, server.client("write") as other:

        def running() -> list[dict[str, Any]]:
            return list(client.get("/v1/statements").json()["statements"])

        [one] = eventually(running)
        assert (one["id"], one["caller"], one["sql"]) == ("endless-1", "read", ENDLESS)
        eventually(lambda: said)  # it tells of itself while it goes on
        assert other.get("/v1/statements").json() == {"statements": []}  # another's
        assert code(other.delete("/v1/statements/endless-1")) == (404, "UNKNOWN_NAME")
        assert client.delete("/v1/statements/endless-1").status_code == 204
        asking.join(PATIENCE)
        assert not running()
    assert said[0].name == "progress"
    assert said[0].data["statement"] == "endless-1"
    assert (said[-1].name, said[-1].data["code"]) == ("error", "CANCELLED")


def test_a_client_that_goes_away_takes_its_statement_with_it(server: Served) -> None:
    with server.client("admin") as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/sql", json={"sql": ENDLESS}, timeout=1.0)
        eventually(lambda: not client.get("/v1/statements").json()["statements"])


# -- pushes --------------------------------------------------------------------------------------


def test_a_push_tells_of_itself_where_it_is_followed(server: Served) -> None:
    with server.client("write") as client:
        client.post("/v1/sql", json={"sql": "CREATE STREAM told (id INT) FROM push()"})
        asked = {"headers": {"Accept": "text/event-stream"}}
        with client.stream("POST", "/v1/streams/told/rows", json=[{"id": 1}], **asked) as answer:
            said = list(events(answer))
        assert answer.headers["x-accel-buffering"] == "no"  # proxies hand on what comes
        assert (said[-1].name, said[-1].data) == ("result", {"accepted": 1})
        with client.stream("POST", "/v1/streams/told/rows", json=[{"x": 1}], **asked) as answer:
            assert [(each.name, each.data["code"]) for each in events(answer)] == [
                ("error", "BAD_ROW")
            ]


def arrow(rows: list[dict[str, Any]]) -> bytes:
    table = pa.Table.from_pylist(rows)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


def test_a_row_goes_in_and_comes_out_by_every_form(client: httpx.Client) -> None:
    """What one answer gives, JSON, CSV and Arrow, another push takes, and it is the same row."""
    assert push(client, "s", json.dumps([ROW]).encode(), "application/json").json() == {
        "accepted": 1
    }
    eventually(lambda: sql(client, "SELECT * FROM all_of_s")[0]["rows"])
    for accept, kind in (
        ("text/csv", "text/csv"),
        ("application/x-ndjson", "application/x-ndjson"),
        ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream"),
    ):
        told = {"sql": "SELECT * FROM all_of_s LIMIT 1"}
        body = client.post("/v1/sql", json=told, headers={"Accept": accept}).content
        assert push(client, "s", body, kind).json() == {"accepted": 1}, body
        packed = gzip.compress(body)
        accepted = push(client, "s", packed, kind, **{"Content-Encoding": "gzip"})
        assert accepted.json() == {"accepted": 1}

    def rows() -> list[dict[str, Any]]:
        return list(sql(client, "SELECT * FROM all_of_s")[0]["rows"])

    eventually(lambda: len(rows()) == 7)
    assert [row | {"cost": float(Decimal(str(row["cost"])))} for row in rows()] == [ROW] * 7


def test_what_is_missing_and_what_is_no_number_come_through(client: httpx.Client) -> None:
    sql(client, "CREATE STREAM sparse (id BIGINT, v DOUBLE, name STRING) FROM push()")
    sql(client, "CREATE QUERY of_sparse AS SELECT * FROM sparse")
    lines = b'{"id":1,"v":"NaN"}\n\n{"V":"-Infinity"}\n'
    assert push(client, "sparse", lines, "application/x-ndjson").json() == {"accepted": 2}
    assert push(client, "sparse", b'id,name\n2,\n3,""\n', "text/csv").json() == {"accepted": 2}
    assert push(client, "sparse", b'{"id": 4}', "application/json").json() == {"accepted": 1}
    assert push(client, "sparse", b"[]", "application/json").json() == {"accepted": 0}
    assert push(client, "sparse", b"", "text/csv").json() == {"accepted": 0}
    got = [event.data for event in follow(client, "of_sparse", 5)]
    assert got == [
        {"id": 1, "v": "NaN", "name": None},
        {"id": None, "v": "-Infinity", "name": None},
        {"id": 2, "v": None, "name": None},
        {"id": 3, "v": None, "name": ""},
        {"id": 4, "v": None, "name": None},
    ]


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b'[{"id": "x"}]', "application/json", (422, "BAD_ROW")),
        (b'[{"id": 1.5}]', "application/json", (422, "BAD_ROW")),
        (b'[{"id": true}]', "application/json", (422, "BAD_ROW")),
        (b'[{"id": 9223372036854775808}]', "application/json", (422, "BAD_ROW")),
        (b'[{"other": 1}]', "application/json", (422, "BAD_ROW")),
        (b'[{"id": 1, "ID": 2}]', "application/json", (422, "BAD_ROW")),
        (b"[1]", "application/json", (422, "BAD_ROW")),
        (b"1", "application/json", (400, "BAD_REQUEST")),
        (b"[{]", "application/json", (400, "BAD_REQUEST")),
        (b'{"id": 1}\n{"id":', "application/x-ndjson", (400, "BAD_REQUEST")),
        (b'[{"raw": "%"}]', "application/json", (422, "BAD_ROW")),
        (b'[{"v": "much"}]', "application/json", (422, "BAD_ROW")),
        (b"id\nx\n", "text/csv", (422, "BAD_ROW")),
        (b"id,id\n1,2\n", "text/csv", (422, "BAD_ROW")),
        (b"nothing\n1\n", "text/csv", (422, "BAD_ROW")),
        (b"id,v\n1\n", "text/csv", (400, "BAD_REQUEST")),
        (b"ok\nperhaps\n", "text/csv", (422, "BAD_ROW")),
        (b"tags\n[\n", "text/csv", (422, "BAD_ROW")),
        (b"at\nyesterday\n", "text/csv", (422, "BAD_ROW")),
        (b"\xff\xfe\n", "text/csv", (400, "BAD_REQUEST")),
        (b"nonsense", "application/vnd.apache.arrow.stream", (400, "BAD_REQUEST")),
        (b"", "application/vnd.apache.arrow.stream", (400, "BAD_REQUEST")),
        (arrow([{"id": "x"}]), "application/vnd.apache.arrow.stream", (422, "BAD_ROW")),
        (b"[]", "text/html", (400, "BAD_REQUEST")),
        (b"[]", "", (400, "BAD_REQUEST")),
        (b" " * (1 << 21), "application/json", (413, "TOO_LARGE")),
    ],
)
def test_rows_that_do_not_fit_are_told_and_none_is_taken(
    server: Served, client: httpx.Client, body: bytes, kind: str, expected: tuple[int, str]
) -> None:
    source = server.connection.system.streams.push_source("s")
    before = source.rows
    assert code(push(client, "s", body, kind)) == expected
    assert source.rows == before


def test_a_body_that_unpacks_to_too_much_is_refused(client: httpx.Client) -> None:
    packed = {"Content-Encoding": "gzip"}
    large = gzip.compress(b" " * (1 << 24))
    assert code(push(client, "s", large, "application/json", **packed)) == (413, "TOO_LARGE")
    for body in (b"[]", gzip.compress(b"[]")[:-4]):
        answer = push(client, "s", body, "application/json", **packed)
        assert code(answer) == (400, "BAD_REQUEST")
    other = push(client, "s", b"[]", "application/json", **{"Content-Encoding": "br"})
    assert code(other) == (400, "BAD_REQUEST")


def test_a_push_that_is_repeated_with_its_key_is_taken_once(client: httpx.Client) -> None:
    def repeat(body: bytes, key: str) -> Any:
        return push(client, "keyed", body, "application/json", **{"Idempotency-Key": key})

    two = b'[{"id": 1}, {"id": 2}]'
    assert repeat(two, "k1").json() == {"accepted": 2}
    assert repeat(two, "k1").json() == {"accepted": 0, "repeated": True}
    assert code(repeat(b'[{"id": 1}, {"id": 3}]', "k1")) == (422, "KEY_REUSED")
    assert code(repeat(b'[{"id": "x"}]', "k2")) == (422, "BAD_ROW")
    assert repeat(b'[{"id": 3}]', "k2").json() == {"accepted": 1}  # nothing was taken before
    assert repeat(b"[]", "k3").json() == {"accepted": 0}
    assert code(repeat(two, "a b")) == (400, "BAD_REQUEST")
    assert [event.data["id"] for event in follow(client, "of_keyed", 3)] == [1, 2, 3]


def test_many_who_repeat_at_once_are_taken_once(server: Served) -> None:
    with server.client("admin") as client:
        sql(client, "CREATE STREAM raced (id BIGINT) FROM push()")
    accepted: list[int] = []

    def race() -> None:
        with server.client("write") as client:
            for key in range(10):
                body = json.dumps([{"id": key}]).encode()
                told = {"Idempotency-Key": str(key)}
                accepted.append(
                    push(client, "raced", body, "application/json", **told).json()["accepted"]
                )

    racing = [threading.Thread(target=race) for _ in range(6)]
    for each in racing:
        each.start()
    for each in racing:
        each.join()
    assert sum(accepted) == 10
    assert server.connection.system.streams.push_source("raced").rows == 10


# -- subscriptions -------------------------------------------------------------------------------


def test_a_subscriber_resumes_behind_the_row_that_it_names(client: httpx.Client) -> None:
    sql(client, "CREATE STREAM n (id BIGINT) FROM push(); CREATE QUERY of_n AS SELECT id FROM n")
    push(client, "n", json.dumps([{"id": i} for i in range(5)]).encode(), "application/json")
    first = follow(client, "of_n", 3)
    push(client, "n", json.dumps([{"id": i} for i in range(5, 9)]).encode(), "application/json")
    rest = follow(client, "of_n", 6, **{"Last-Event-ID": first[-1].id})
    assert [event.data["id"] for event in (*first, *rest)] == list(range(9))
    assert len({event.id for event in (*first, *rest)}) == 9

    client.post("/v1/streams/n/end")
    found = follow(client, "of_n", 99)
    assert [event.name for event in found] == [""] * 9 + ["end"]


def test_rows_that_are_there_can_be_had_without_waiting(client: httpx.Client) -> None:
    sql(client, "CREATE STREAM m (id BIGINT) FROM push(); CREATE QUERY of_m AS SELECT id FROM m")
    push(client, "m", b'[{"id": 1}, {"id": 2}]', "application/json")
    eventually(lambda: len(sql(client, "SELECT * FROM of_m")[0]["rows"]) == 2)
    text = client.get("/v1/queries/of_m/rows", params={"wait": False, "after": "1-0"}).text
    assert text == 'id: 1-1\ndata: {"id":2}\n\n'
    assert client.get("/v1/queries/of_m/rows", params={"wait": False, "after": "now"}).text == ""


def test_rows_come_by_socket_with_their_positions(server: Served, client: httpx.Client) -> None:
    sql(client, "CREATE STREAM w (id BIGINT) FROM push(); CREATE QUERY of_w AS SELECT id FROM w")
    push(client, "w", json.dumps([{"id": i} for i in range(3)]).encode(), "application/json")
    url = server.url.replace("http://", "ws://") + "/v1/queries/of_w/rows"
    told = {"Authorization": f"Bearer {server.tokens['read']}"}
    with websocket.connect(url, additional_headers=told) as socket:
        rows = json.loads(socket.recv(PATIENCE))["rows"]
        push(client, "w", b'[{"id": 3}]', "application/json")
        rows += json.loads(socket.recv(PATIENCE))["rows"]
    assert [each["row"]["id"] for each in rows] == [0, 1, 2, 3]
    secret = server.tokens["read"]
    with websocket.connect(
        f"{url}?after={rows[1]['position']}", subprotocols=["penstock", f"bearer.{secret}"]
    ) as socket:
        assert socket.subprotocol == "penstock"
        again = json.loads(socket.recv(PATIENCE))["rows"]
        assert [each["row"]["id"] for each in again][:1] == [2]
        client.post("/v1/streams/w/end")
        said = list(map(json.loads, socket))
        assert said[-1] == {"end": True}
    eventually(lambda: server.service.subscribers == 0)


@pytest.mark.parametrize("after", ["x", "1", "-1-0", "1-", "99999999999999999999-0"])
def test_a_position_that_is_none_is_told(client: httpx.Client, after: str) -> None:
    told = {"Last-Event-ID": after}
    assert code(client.get("/v1/queries/of_n/rows", headers=told)) == (400, "BAD_REQUEST")


def test_a_query_that_is_not_there_is_told(server: Served, client: httpx.Client) -> None:
    assert code(client.get("/v1/queries/nothing/rows")) == (404, "UNKNOWN_NAME")
    assert code(push(client, "nothing", b"[]", "application/json")) == (404, "UNKNOWN_NAME")
    assert code(push(client, "all_of_s", b"[]", "application/json")) == (404, "UNKNOWN_NAME")
    url = server.url.replace("http://", "ws://") + "/v1/queries/nothing/rows"
    told = {"Authorization": f"Bearer {server.tokens['read']}"}
    with (
        pytest.raises(InvalidStatus) as raised,
        websocket.connect(url, additional_headers=told),
    ):
        pass
    assert raised.value.response.status_code == 404


def test_more_subscribers_than_the_limit_are_refused(server: Served, client: httpx.Client) -> None:
    url = server.url.replace("http://", "ws://") + "/v1/queries/of_mine/rows"
    told = {"Authorization": f"Bearer {server.tokens['read']}"}
    eventually(lambda: server.service.subscribers == 0)
    with ExitStack() as sockets:
        for _ in range(20):
            sockets.enter_context(websocket.connect(url, additional_headers=told))
        refused = client.get("/v1/queries/of_mine/rows")
        assert code(refused) == (429, "TOO_MANY")
        assert int(refused.headers["retry-after"]) >= 1
    eventually(lambda: server.service.subscribers == 0)


# -- who may -------------------------------------------------------------------------------------


def test_without_a_token_of_ours_nothing_is_told(server: Served) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer pst_wrong"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": f"Bearer {server.tokens['read']}x"},
    ):
        with httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE) as client:
            for response in (
                client.post("/v1/sql", json={"sql": "SHOW STREAMS"}),
                client.get("/v1/queries/all_of_s/rows"),
                push(client, "s", b"[]", "application/json"),
                client.get("/v1/statements"),
            ):
                assert code(response) == (401, "UNAUTHENTICATED")
                assert response.headers["www-authenticate"].startswith("Bearer")
            assert client.get("/health/ready").status_code == 200
    url = server.url.replace("http://", "ws://") + "/v1/queries/all_of_s/rows"
    with pytest.raises(InvalidStatus) as raised, websocket.connect(url):
        pass
    assert raised.value.response.status_code == 401


def test_a_role_and_its_streams_hold_for_every_path(server: Served) -> None:
    with server.client("read") as reader, server.client("of_mine") as limited:
        assert code(push(reader, "s", b"[]", "application/json")) == (403, "FORBIDDEN")
        assert code(reader.post("/v1/streams/mine/end")) == (403, "FORBIDDEN")
        refused = reader.post("/v1/sql", json={"sql": "SHOW STREAMS;\n DROP QUERY all_of_s"})
        assert code(refused) == (403, "FORBIDDEN")
        assert refused.json()["error"]["line"] == 2
        assert push(limited, "mine", b'{"id": 1}', "application/json").json() == {"accepted": 1}
        assert follow(limited, "of_mine", 1)[0].data == {"id": 1}
        assert code(push(limited, "s", b"[]", "application/json")) == (403, "FORBIDDEN")
        assert code(limited.get("/v1/queries/all_of_s/rows")) == (403, "FORBIDDEN")
        steer = limited.post("/v1/sql", json={"sql": "SET STRATEGY round_robin"})
        assert code(steer) == (403, "FORBIDDEN")


def test_who_changed_what_is_kept(server: Served) -> None:
    told = {"X-Request-Id": "audit-1"}
    text = "CREATE STREAM audited (id INT) FROM push()"
    with server.client("write") as writer, server.client("read") as reader:
        writer.post("/v1/sql", json={"sql": text}, headers=told)
        writer.post("/v1/sql", json={"sql": text})
        reader.post("/v1/sql", json={"sql": "DROP STREAM audited"})
        reader.post("/v1/sql", json={"sql": "SHOW STREAMS"})
    lines = server.service.configuration.audit_file.read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    mine = [each for each in kept if "audited" in each["statement"]]
    assert [(each["caller"], each["role"], each["outcome"]) for each in mine] == [
        ("write", "write", "done"),
        ("write", "write", "NAME_TAKEN"),
        ("read", "read", "FORBIDDEN"),
    ]
    assert mine[0]["request"] == "audit-1"
    with server.client("of_mine") as limited:
        push(limited, "s", b"[]", "application/json")
        limited.get("/v1/queries/all_of_s/rows")
    lines = server.service.configuration.audit_file.read_text().splitlines()[-2:]
    refused = [
        (each["caller"], each["statement"], each["outcome"]) for each in map(json.loads, lines)
    ]
    assert refused == [
        ("of_mine", "pushing: s", "FORBIDDEN"),
        ("of_mine", "subscribing: all_of_s", "FORBIDDEN"),
    ]
    assert not any(each["statement"] == "SHOW STREAMS" for each in kept)


def test_scripts_of_other_sites_are_refused(server: Served, client: httpx.Client) -> None:
    other = {"Origin": "https://elsewhere.example"}
    refused = client.post("/v1/sql", json={"sql": "SHOW STREAMS"}, headers=other)
    assert code(refused) == (403, "FORBIDDEN")
    assert "access-control-allow-origin" not in refused.headers
    same = {"Origin": server.url}
    assert client.post("/v1/sql", json={"sql": "SHOW STREAMS"}, headers=same).status_code == 200
    url = server.url.replace("http://", "ws://") + "/v1/queries/all_of_s/rows"
    told = {"Authorization": f"Bearer {server.tokens['read']}"}
    elsewhere = Origin("https://elsewhere.example")
    with (
        pytest.raises(InvalidStatus),
        websocket.connect(url, additional_headers=told, origin=elsewhere),
    ):
        pass


def test_every_answer_has_the_id_of_its_request(client: httpx.Client) -> None:
    given = client.get("/health/live", headers={"X-Request-Id": "mine-1"})
    assert given.headers["x-request-id"] == "mine-1"
    made = client.get("/health/live", headers={"X-Request-Id": "no, not\tthis"})
    assert made.headers["x-request-id"] not in ("", "no, not\tthis")
    assert code(client.get("/nothing")) == (404, "BAD_REQUEST")
    assert code(client.get("/v1/sql")) == (405, "BAD_REQUEST")


def test_pages_of_other_sites_cannot_frame_or_guess(client: httpx.Client) -> None:
    headers = client.get("/health/live").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_a_home_is_given_out_only_to_its_owner(server: Served) -> None:
    home = Path(server.service.configuration.home)
    for name in ("tokens.json", "audit.jsonl"):
        assert (home / name).stat().st_mode & 0o077 == 0
