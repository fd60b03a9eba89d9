"""PUNCTUATE traffic WHERE car_id = 'x': no more tuples of that kind will come."""

from penstock.errors import BadQueryError
from penstock.sql.dialect.conditions import PARTS, find_part
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.printable import settled
from penstock.sql.dialect.refusals import place_at
from penstock.sql.grammar.statements import Punctuate


def read_punctuate(reader: Penstock.Parser) -> Punctuate:
    """Read a whole PUNCTUATE statement."""
    start = reader.token
    text, place = reader.text_from(start), place_at(reader.sql, start.start)
    reader.expect("PUNCTUATE")
    stream = reader.name("the stream's name")
    reader.expect("WHERE", hint="PUNCTUATE traffic WHERE car_id = 'x'")
    with reader.placed(reader.token):
        condition = settled(reader.value("a condition"), lambda again: again.value("a condition"))
        part = find_part(condition, *PARTS)
        if part is not None:
            raise BadQueryError(
                f"{part} stands in a condition over single tuples",
                hint="compare the stream's own columns: WHERE car_id = 'x' AND ts < …",
            )
    return Punctuate(text, place, stream, condition)
