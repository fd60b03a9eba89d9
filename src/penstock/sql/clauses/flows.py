"""What follows AS FLOW: templates and functions, the stream they run over, one of its outputs."""

from sqlglot import TokenType, exp

from penstock.errors import BadOptionError
from penstock.model.functions.flows import Term, Value
from penstock.sql.clauses.flow_trees import WrittenFlow, with_flow
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import place_at

EXAMPLE = "FLOW pcc(4, fft3_part, fft3, os_join(fft3_combine)) OVER radio"
MAX_DEPTH = 50  # templates inside templates; a tree of so many levels has no machine
BRANCH = "#"  # stands for the number of a branch
CONSTANTS: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}
DIGITS = 18  # of a whole number that is one in SQL, too


def read_flow(reader: TokenReader) -> exp.Select:
    """Read a flow as the SELECT of everything that it gives."""
    start = reader.token
    reader.expect("FLOW")
    token = reader.token
    term = _value(reader, 0)
    if not isinstance(term, Term):
        reader.fail("a flow is a template or a function", hint=EXAMPLE, token=token or start)
    reader.expect("OVER", hint=EXAMPLE)
    name = reader.name("the stream's name")
    output = _output(reader) if reader.accept("OUTPUT") else None
    table = exp.Table(this=exp.to_identifier(name, quoted=True))
    with_flow(table, WrittenFlow(term, output, term.place))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))


def _output(reader: TokenReader) -> int:
    token = reader.token
    number = reader.number()
    if number is None or not number.isdecimal() or len(number) > DIGITS:
        with reader.placed(token or reader.token):
            raise BadOptionError("OUTPUT takes the number of an output, from 0 on")
    return int(number)


def _value(reader: TokenReader, depth: int) -> Value:
    """Read a name, a call, or a constant."""
    token = reader.token
    if depth > MAX_DEPTH:
        reader.fail("templates are nested too deeply", token=token)
    if reader.accept(BRANCH):
        return BRANCH
    if reader.accept("("):
        return _numbers(reader)
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
        return Term(name, place=place)
    arguments, named = _arguments(reader, depth)
    return Term(name, arguments, named, place)


def _arguments(
    reader: TokenReader, depth: int
) -> tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]]:
    """Read what stands in the parentheses of a call."""
    arguments: list[Value] = []
    named: dict[str, Value] = {}
    while not (reader.sees(")") and not arguments and not named):
        token = reader.token
        value = _value(reader, depth + 1)
        if reader.accept("=>"):
            bare = isinstance(value, Term) and not value.arguments and not value.named
            if not isinstance(value, Term) or not bare or value.name.lower() in named:
                reader.fail("a name stands before =>, and each once", token=token)
            named[value.name.lower()] = _value(reader, depth + 1)
        elif named:
            reader.fail("what has no name comes first", token=token)
        else:
            arguments.append(value)
        if not reader.accept(","):
            break
    reader.expect(")", hint="commas stand between arguments")
    return tuple(arguments), tuple(named.items())


def _numbers(reader: TokenReader) -> tuple[int | float, ...]:
    """Read numbers in parentheses; a comma behind a single one does no harm."""
    found: list[int | float] = []
    while (number := reader.number()) is not None:
        found.append(_number(reader, number))
        if not reader.accept(","):
            break
    reader.expect(")", hint="such as convolve((0.25, 0.5, 0.25))")
    return tuple(found)


def _number(reader: TokenReader, text: str) -> int | float:
    if text.lstrip("-").isdecimal() and len(text) <= DIGITS:
        return int(text)
    try:
        return float(text)
    except ValueError:
        reader.fail(f"{text} is no number")
