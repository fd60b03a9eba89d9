"""What is logged stays what it is, whatever clients send."""

import io
import json
import logging

import pytest

from penstock.server.logs import FORMATS, teller

PATH = "/a\n2026-11-19T00:00:00.000+00:00 INFO all is well\r\x1b[2K\u2028x"


@pytest.mark.parametrize("form", FORMATS)
def test_no_request_begins_a_line_of_its_own(form: str) -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(FORMATS[form]())
    record = logging.LogRecord("penstock", logging.INFO, "", 0, "of %s", (PATH,), None)
    record.facts = {"path": PATH}
    handler.handle(record)
    line = out.getvalue().removesuffix("\n")
    assert "\n" not in line
    if form == "json":
        assert json.loads(line)["path"] == PATH
    else:
        assert line.isprintable()


@pytest.mark.parametrize("form", FORMATS)
def test_where_the_log_is_json_nothing_else_stands_between_its_lines(form: str) -> None:
    out, plain = io.StringIO(), list[str]()
    handler = logging.StreamHandler(out)
    handler.setFormatter(FORMATS[form]())
    teller(handler, plain.append)("ready")
    if form == "json":
        assert json.loads(out.getvalue())["message"] == "ready"
        assert plain == []
    else:
        assert (out.getvalue(), plain) == ("", ["ready"])
