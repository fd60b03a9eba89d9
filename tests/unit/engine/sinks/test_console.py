import io
from collections.abc import Callable

import pyarrow as pa
import pytest

from penstock.engine.sinks.console import ConsoleSink
from penstock.engine.sinks.sink import Delivery
from penstock.errors import SinkError
from penstock.model.definitions import Connector, QueryDefinition

ROWS = pa.table({"car": ["a", "é"], "mph": [5, 10]})


def console(out: io.TextIOBase | None, **options: str) -> ConsoleSink:
    definition = QueryDefinition("turns", "", sink=Connector("console", tuple(options.items())))
    sink = ConsoleSink(definition, out=out)  # type: ignore[arg-type]  # a TextIO in all but name
    sink.open()
    return sink


def printed(*deliveries: pa.Table, **options: str) -> str:
    out = io.StringIO()
    sink = console(out, **options)
    for number, rows in enumerate(deliveries, start=1):
        sink.write(Delivery("turns", number, rows))
    return out.getvalue()


def test_a_table_is_headed_by_its_query() -> None:
    assert printed(ROWS) == "turns\ncar | mph\n----+----\na   |   5\né   |  10\n\n"


def test_json_is_one_object_a_line() -> None:
    assert printed(ROWS, format="json") == '{"car":"a","mph":5}\n{"car":"é","mph":10}\n'


def test_csv_names_its_columns_once() -> None:
    assert printed(ROWS, ROWS.slice(1), format="csv") == "car,mph\na,5\né,10\né,10\n"


@pytest.mark.parametrize("kind", ["table", "json", "csv"])
def test_no_rows_print_nothing(kind: str) -> None:
    assert printed(ROWS.slice(0, 0), format=kind) == ""


def test_it_prints_to_standard_output_unless_told_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console(None, format="csv").write(Delivery("turns", 1, ROWS))
    assert capsys.readouterr().out == "car,mph\na,5\né,10\n"


def test_what_the_terminal_cannot_show_is_escaped() -> None:
    raw = io.BytesIO()
    terminal = io.TextIOWrapper(raw, encoding="ascii")
    console(terminal, format="csv").write(Delivery("turns", 1, ROWS))
    assert raw.getvalue() == b"car,mph\na,5\n\\xe9,10\n"


def close(out: io.StringIO) -> None:
    out.close()


def break_pipe(out: io.StringIO) -> None:
    def write(_: str) -> int:
        raise BrokenPipeError

    out.write = write  # type: ignore[method-assign]


@pytest.mark.parametrize("harm", [close, break_pipe])
def test_output_that_nobody_reads_is_a_sink_that_failed(
    harm: Callable[[io.StringIO], None],
) -> None:
    out = io.StringIO()
    sink = console(out)
    harm(out)
    with pytest.raises(SinkError) as caught:
        sink.write(Delivery("turns", 1, ROWS))
    assert caught.value.code == "SINK_FAILED"


def test_a_console_that_is_not_open_says_so() -> None:
    sink = ConsoleSink(QueryDefinition("turns", "", sink=Connector("console")))
    with pytest.raises(SinkError):
        sink.write(Delivery("turns", 1, ROWS))


def test_it_closes_nothing_that_is_not_its_own() -> None:
    out = io.StringIO()
    console(out).close()
    assert not out.closed
