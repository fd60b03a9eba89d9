"""Deliveries told to a real server: each at least once, with a key by which doubles are told."""

import pyarrow as pa
import pytest

from penstock.engine.sinks.http.http import HttpSink
from penstock.engine.sinks.sink import Delivery, SinkSurroundings
from penstock.errors import BadOptionError, NotAllowedError, SinkError
from penstock.model.definitions import Connector, Option, QueryDefinition
from tests.engine.http.places import LOOPBACK
from tests.servers.web import running_web


def made(url: str, **more: Option) -> HttpSink:
    sink = Connector("http", tuple(({"url": url} | more).items()))
    definition = QueryDefinition("Fast", "SELECT 1", sink=sink)
    HttpSink.check(definition)
    return HttpSink(definition, SinkSurroundings(lambda: "home", lambda: LOOPBACK))


ROWS = pa.table({"id": [1, 2], "said": ["a\nb", None]})


def test_a_delivery_is_one_request_with_a_key_that_stays() -> None:
    with running_web() as web:
        sink = made(web.url("told"))
        sink.open()
        for number in (1, 2, 2):
            sink.write(Delivery("Fast", number, ROWS))
        sink.close()
        lines = made(web.url("told"), format="lines")
        lines.open()
        lines.write(Delivery("Fast", 3, ROWS.slice(0, 1)))
        lines.close()
        keys = [key for key, _ in web.told]
        assert keys == [f"home/fast/{number}" for number in (1, 2, 2, 3)]
        assert [rows for _, rows in web.told] == [ROWS.to_pylist()] * 3 + [ROWS.to_pylist()[0]]


def test_what_is_refused_or_not_reached_is_told_and_goes_when_it_can() -> None:
    with running_web() as web:
        sink = made(web.url("told"))
        sink.open()
        web.status = 500
        with pytest.raises(SinkError, match="500"):
            sink.write(Delivery("Fast", 1, ROWS))
        web.stop()
        with pytest.raises(SinkError):
            sink.write(Delivery("Fast", 1, ROWS))
        web.status = 200
        web.start()
        sink.write(Delivery("Fast", 1, ROWS))
        sink.close()
        assert [key for key, _ in web.told] == ["home/fast/1"]


def test_nobody_is_told_whom_the_operator_has_not_named() -> None:
    with pytest.raises(NotAllowedError):
        made("http://192.0.2.1/x").open()


@pytest.mark.parametrize("url", ["nothing", "http://me:pw@a", "http://a?token=1"])
def test_bad_addresses_are_told_before_anything_is_opened(url: str) -> None:
    with pytest.raises(BadOptionError):
        made(url)
