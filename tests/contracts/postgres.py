"""A connection over PostgreSQL's protocol that gives what other connections give for SQL."""

from typing import Any

import psycopg
import pyarrow as pa

from penstock.errors import PenstockError
from penstock.remote.answers import error_of
from penstock.runtime.statements.result import Result


class PostgresConnection:
    """Statements by psycopg; errors are raised as the classes that their codes name."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("postgresql://").partition(":")
        self._client = psycopg.connect(host=host, port=port, user="me", autocommit=True)

    def sql(self, text: str) -> Result:
        return self.script(text)[-1]

    def script(self, text: str) -> list[Result]:
        """Return what each statement gave; one alone is asked for in bytes, which lose nothing."""
        cursor = self._client.cursor(binary=";" not in text)
        try:
            cursor.execute(text.encode())
            results = [_result(cursor)]
            while cursor.nextset():
                results.append(_result(cursor))
        except psycopg.Error as error:
            raise _told(error, text) from error
        return results

    def close(self) -> None:
        self._client.close()


def _result(cursor: psycopg.Cursor[Any]) -> Result:
    if cursor.description is None:
        return Result(cursor.statusmessage or "")
    rows = cursor.fetchall()
    columns = [pa.array([row[at] for row in rows]) for at in range(len(cursor.description))]
    return Result("", pa.table(columns, [each.name for each in cursor.description]))


def _told(error: psycopg.Error, text: str) -> PenstockError:
    """Return an error as the class that the server's code names, with its place."""
    diag = error.diag
    told: dict[str, Any] = {"code": diag.source_function, "message": diag.message_primary}
    if diag.statement_position is not None:
        before = text[: int(diag.statement_position) - 1]
        told["line"] = before.count("\n") + 1
        told["column"] = len(before) - before.rfind("\n")
    return error_of(told, text)
