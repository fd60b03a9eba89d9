"""Records of CSV over line ends: as Python's csv module has written them."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.interfaces.formats.lines import split
from penstock.engine.interfaces.formats.quoted import after_record, fields, records, runs

CELLS = st.text(st.sampled_from('ab ,;"\r\n\t\\é雨'), max_size=6)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=6)
DELIMITERS = st.sampled_from([",", ";", "\t", "|", "雨", "."])
ENDS = st.just("\r\n")  # the writer leaves \r without quotes where lines do not end in it


def written(rows: list[list[str]], delimiter: str, end: str, quoting: int) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return text.getvalue().encode()


@given(ROWS, DELIMITERS, ENDS, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_every_record_comes_back_whole(
    rows: list[list[str]], delimiter: str, end: str, quoting: int
) -> None:
    data = written(rows, delimiter, end, quoting)
    found, wrong = records(data, delimiter, multiline=True)
    assert not wrong
    texts = [record.decode() for record in found.to_pylist()[:-1]]
    assert [next(csv.reader([text], delimiter=delimiter)) for text in texts] == rows
    cells = [len(fields(text.removesuffix("\r"), delimiter)) for text in texts]
    assert cells == [len(row) for row in rows]


@given(ROWS, DELIMITERS, ENDS)
def test_without_multiline_a_record_is_there_whole_or_refused_whole(
    rows: list[list[str]], delimiter: str, end: str
) -> None:
    data = written(rows, delimiter, end, csv.QUOTE_MINIMAL)
    found, wrong = records(data, delimiter, multiline=False)
    texts = [record.decode() for record in found.to_pylist()[:-1]]
    plain = [row for row in rows if not any("\n" in cell for cell in row)]
    assert [next(csv.reader([text], delimiter=delimiter)) for text in texts] == plain
    assert [next(csv.reader([reject.raw], delimiter=delimiter)) for reject in wrong] == [
        row for row in rows if row not in plain
    ]
    assert {reject.kind for reject in wrong} <= {"line break"}


@given(ROWS, DELIMITERS, ENDS)
def test_a_cut_at_any_line_end_goes_to_the_end_of_its_record(
    rows: list[list[str]], delimiter: str, end: str
) -> None:
    data = written(rows, delimiter, end, csv.QUOTE_MINIMAL)
    ends, place = set(), 0
    for row in rows:
        place += len(written([row], delimiter, end, csv.QUOTE_MINIMAL))
        ends.add(place)
    for cut in (at + 1 for at, byte in enumerate(data) if byte == ord("\n")):
        whole = after_record(data, cut, delimiter)
        assert whole == min(each for each in ends if each >= cut)
        assert all(run.ends for run in runs(split(data[:whole]), data[:whole], delimiter))


def test_quotes_that_never_end_spoil_their_own_line_alone() -> None:
    data = b'1,"a\nb"\n2,"oops\n3,ok\n4,"x"\n5,6" wide\n7,"last'
    found, wrong = records(data, ",", multiline=True)
    assert found.to_pylist() == [b'1,"a\nb"', b"3,ok", b'4,"x"', b'5,6" wide']
    assert [(each.raw, each.kind) for each in wrong] == [
        ('2,"oops', "syntax"),
        ('7,"last', "syntax"),
    ]


def test_bytes_that_are_no_text_are_lines_like_others() -> None:
    found, wrong = records(b'\xff,"a\nb"\n\xfe,1', ",", multiline=True)
    assert found.to_pylist() == [b'\xff,"a\nb"', b"\xfe,1"]
    assert not wrong
