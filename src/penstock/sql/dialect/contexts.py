"""[CONTEXT chronicle]: the consumption mode in which an event is read."""

from penstock.model.events import Mode
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss


def read_context(reader: TokenReader) -> Mode:
    """Read a mode with its brackets."""
    reader.expect("[", "CONTEXT")
    mode = read_mode(reader)
    reader.expect("]", hint="such as [CONTEXT chronicle]")
    return mode


def read_mode(reader: TokenReader) -> Mode:
    """Read the name of a mode; a minus may stand for the underscore."""
    token = reader.token
    name = reader.word("a consumption mode", hint=f"one of {', '.join(Mode)}").lower()
    while reader.accept("-"):
        name = f"{name}_{reader.word('a consumption mode').lower()}"
    if name not in tuple(Mode):
        hint = near_miss(name, Mode).lower() or f"one of {', '.join(Mode)}"
        reader.fail(f"there is no consumption mode {name}", hint=hint, token=token)
    return Mode(name)
