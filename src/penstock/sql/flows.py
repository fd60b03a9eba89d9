"""What follows AS FLOW: templates and functions, the stream they run over, one of its outputs."""

from sqlglot import TokenType, exp

from penstock.errors import BadOptionError
from penstock.sql.flow_trees import BRANCH, FLOW, FlowCall, FlowName, FlowPart, WrittenFlow
from penstock.sql.reader import Reader
from penstock.sql.refusals import place_at

EXAMPLE = "FLOW pcc(4, fft3_part, fft3, os_join(fft3_combine)) OVER radio"
MAX_DEPTH = 50  # templates inside templates; a tree of so many levels has no machine
CONSTANTS: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}


def read_flow(reader: Reader) -> exp.Select:
    """Read a flow as the SELECT of everything that it gives."""
    start = reader.token
    reader.expect("FLOW")
    place = place_at(reader.sql, reader.token.start) if reader.token else None
    if place is None:
        reader.miss("a template or a function", hint=EXAMPLE)
    part = _part(reader, 0)
    if not isinstance(part, FlowCall | FlowName | str):
        reader.fail("a flow is a template or a function", hint=EXAMPLE, token=start)
    reader.expect("OVER", hint=EXAMPLE)
    name = reader.name("the stream's name")
    output = _output(reader) if reader.accept("OUTPUT") else None
    flow = WrittenFlow(part, name, output, reader.text_from(start), place)
    table = exp.Table(this=exp.to_identifier(name, quoted=True))
    table.set(FLOW, flow)
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))


def _output(reader: Reader) -> int:
    token = reader.token
    number = reader.number()
    if number is None or not number.isdecimal() or len(number) > len("999999"):
        with reader.placed(token):
            raise BadOptionError("OUTPUT takes the number of an output, from 0 on")
    return int(number)


def _part(reader: Reader, depth: int) -> FlowPart:
    """Read a name, a call, or a constant."""
    token = reader.token
    if depth > MAX_DEPTH:
        reader.fail("templates are nested too deeply", token=token)
    if reader.accept(BRANCH):
        return FlowName(BRANCH, place_at(reader.sql, token.start))
    if (text := reader.string()) is not None:
        return text
    if (number := reader.number()) is not None:
        return _number(reader, number)
    for word, value in CONSTANTS.items():
        if token.token_type is not TokenType.IDENTIFIER and reader.accept(word):
            return value
    name = reader.word("a template, a function or a value", hint=EXAMPLE)
    place = place_at(reader.sql, token.start)
    if not reader.accept("("):
        return FlowName(name, place)
    return _call(reader, name, depth)


def _call(reader: Reader, name: str, depth: int) -> FlowCall:
    """Read what stands in the parentheses of a call."""
    place = place_at(reader.sql, reader.token.start) if reader.token else place_at(reader.sql, 0)
    arguments: list[FlowPart] = []
    named: dict[str, FlowPart] = {}
    while not (reader.sees(")") and not arguments and not named):
        token = reader.token
        part = _part(reader, depth + 1)
        if reader.accept("=>"):
            if not isinstance(part, FlowName) or part.name in named:
                reader.fail("a name stands before =>, and each once", token=token)
            named[part.name.lower()] = _part(reader, depth + 1)
        elif named:
            reader.fail("what has no name comes first", token=token)
        else:
            arguments.append(part)
        if not reader.accept(","):
            break
    reader.expect(")", hint="commas stand between arguments")
    return FlowCall(name, tuple(arguments), tuple(named.items()), place)


def _number(reader: Reader, text: str) -> int | float:
    try:
        return int(text) if text.lstrip("-").isdecimal() and len(text) < len("-" + "9" * 19) else float(text)
    except ValueError:
        reader.fail(f"{text} is no number")
