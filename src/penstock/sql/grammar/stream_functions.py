"""What follows CREATE FUNCTION and its name."""

from penstock.errors import NameTakenError
from penstock.model.definitions import DeclaredParameter, FunctionDefinition, PythonFunction
from penstock.sql.clauses.columns import read_type
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.printable import select_of

EXAMPLE = "CREATE FUNCTION loud(s radio, k INT) RETURNS radio AS SELECT … FROM s"


def read_function(
    reader: Penstock.Parser, name: str, text: str
) -> FunctionDefinition | PythonFunction:
    """Read a function's stream, its parameters, what it returns, and its SELECT."""
    if reader.accept("USING"):
        return _read_python(reader, name, text)
    reader.expect("(", hint=EXAMPLE)
    stream = reader.name("the name of the stream that it reads")
    takes = reader.name("the type of that stream")
    parameters: list[DeclaredParameter] = []
    while reader.accept(","):
        token = reader.token
        named = reader.name("a parameter's name")
        taken = {stream.lower(), *(each.name.lower() for each in parameters)}
        if named.lower() in taken:
            with reader.placed(token):
                raise NameTakenError(f"parameter {named} is there already")
        parameters.append(DeclaredParameter(named, read_type(reader)))
    reader.expect(")", hint=EXAMPLE)
    reader.expect("RETURNS", hint=EXAMPLE)
    returns = reader.name("the type of what it gives")
    reader.expect("AS", hint=EXAMPLE)
    if not reader.token:
        reader.miss("a SELECT", hint=EXAMPLE)
    body = reader.text_from(reader.token)
    reader.read_apart(reader.rest(), select_of)
    return FunctionDefinition(name, stream, takes, tuple(parameters), returns, body, text)


def _read_python(reader: Penstock.Parser, name: str, text: str) -> PythonFunction:
    """Read where a registered function is found; only the catalog writes this."""
    reference = reader.string()
    reader.expect("VERSION")
    version = reader.number()
    if reference is None or version is None or not version.isdecimal():
        reader.miss("'module:name' VERSION 1")
    return PythonFunction(name, reference, int(version), text)
