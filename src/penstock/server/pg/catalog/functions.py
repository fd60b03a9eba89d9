"""Functions that questions about the catalog call, for SQLite; arrays are JSON between them."""

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.server.pg.catalog.relations import Relation, SessionFacts, numbered
from penstock.server.pg.catalog.tables import DATABASE, OWNER, SCHEMAS
from penstock.server.pg.values import types
from penstock.server.pg.values.types import NUMERIC_HEADER, TYPES, PgType

SEARCH_PATH = ["public"]
MOST_PATTERN = 1000  # characters of a pattern, and elements of a series
Any_ = -1  # any number of arguments


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function, and the type of what it returns."""

    call: Callable[..., Any]
    returns: PgType
    arguments: int = Any_


def functions_of(relations: tuple[Relation, ...], facts: SessionFacts) -> Mapping[str, SqlFunction]:
    """Return the functions of a session by name."""
    numbers = dict(numbered(relations))
    return {**FIXED, **_names(numbers), **_session(facts), **_definitions(numbers)}


def register(connection: sqlite3.Connection, functions: Mapping[str, SqlFunction]) -> None:
    """Make functions known to a connection."""
    for name, function in functions.items():
        connection.create_function(name, function.arguments, function.call)


def _session(facts: SessionFacts) -> dict[str, SqlFunction]:
    settings = {name.lower(): value for name, value in facts.parameters}

    def setting(name: str, *_: object) -> str | None:
        return settings.get(str(name).lower())

    return {
        "current_database": SqlFunction(lambda: facts.database, types.NAME),
        "current_schema": SqlFunction(lambda: SEARCH_PATH[0], types.NAME),
        "current_schemas": SqlFunction(_schemas, types.ARRAY_OF[types.NAME]),
        "pg_current_user": SqlFunction(lambda: facts.user, types.NAME),
        "pg_get_userbyid": SqlFunction(lambda _: facts.user, types.NAME),
        "pg_backend_pid": SqlFunction(lambda: facts.process, types.INT4),
        "version": SqlFunction(lambda: facts.version, types.TEXT),
        "current_setting": SqlFunction(setting, types.TEXT),
        "set_config": SqlFunction(lambda _, value, __: value, types.TEXT),
    }


def _schemas(implicit: int) -> str:
    return json.dumps((["pg_catalog"] if implicit else []) + SEARCH_PATH)


def _names(numbers: Mapping[int, Relation]) -> dict[str, SqlFunction]:
    by_name = {r.name.lower(): n for n, r in numbers.items() if r.schema == "public"}
    by_name |= {f"{r.schema}.{r.name}".lower(): n for n, r in numbers.items()}

    def number_of(name: object) -> int | None:
        text = str(name).replace('"', "").lower().removeprefix("pg_catalog.")
        return int(text) if text.isdigit() else by_name.get(text) or CATALOG_OIDS.get(text)

    def name_of(number: object) -> str:
        relation = numbers.get(number) if isinstance(number, int) else None
        if relation is None:
            return str(number)
        return (
            quote_ident(relation.name)
            if relation.schema == "public"
            else (f"{relation.schema}.{quote_ident(relation.name)}")
        )

    def visible(number: object) -> int:
        relation = numbers.get(number) if isinstance(number, int) else None
        return int(relation is not None and relation.schema == "public")

    return {
        "to_regclass": SqlFunction(number_of, types.REGCLASS),
        "regclass_name": SqlFunction(name_of, types.TEXT),
        "pg_table_is_visible": SqlFunction(visible, types.BOOL),
    }


def _definitions(numbers: Mapping[int, Relation]) -> dict[str, SqlFunction]:
    def definition(number: object, *_: object) -> str | None:
        relation = numbers.get(number) if isinstance(number, int) else None
        return relation.definition if relation is not None else None

    def comment(number: object, *_: object) -> str | None:
        relation = numbers.get(number) if isinstance(number, int) else None
        return relation.kind if relation is not None else None

    return {
        "pg_get_viewdef": SqlFunction(definition, types.TEXT),
        "obj_description": SqlFunction(comment, types.TEXT),
    }


def quote_ident(name: object) -> str:
    """Return a name as SQL writes it, in quotes where it needs them."""
    text = str(name)
    if re.fullmatch(r"[a-z_][a-z0-9_$]*", text):
        return text
    return '"' + text.replace('"', '""') + '"'


def format_type(number: int | None, modifier: int | None = None) -> str | None:
    """Return how SQL writes a type."""
    if number is None:
        return None
    type_ = TYPES.get(number)
    if type_ is None:
        return "-" if number == 0 else "???"
    if type_ is types.NUMERIC and modifier is not None and modifier >= NUMERIC_HEADER:
        digits = modifier - NUMERIC_HEADER
        return f"numeric({digits >> 16},{digits & 0xFFFF})"
    return type_.sql


def regtype_of(name: object) -> int | None:
    """Return the number of a type from its name."""
    text = str(name).replace('"', "").removeprefix("pg_catalog.").lower().strip()
    if text.isdigit():
        return int(text)
    found = (each.oid for each in TYPES.values() if text in (each.name, each.sql))
    return next(found, None)


def matches(text: object, pattern: object, ignore_case: bool = False) -> int | None:
    """Say whether a regular expression is found in a text.

    By RE2, whose time grows with the text alone: Python's own would run for ever on some.
    """
    if text is None or pattern is None:
        return None
    found = pc.match_substring_regex(
        pa.array([str(text)]), _short(pattern), ignore_case=ignore_case
    )
    return int(found[0].as_py())


def like(
    pattern: object, text: object, escape: str = "\\", ignore_case: bool = False
) -> int | None:
    """Say whether a text is LIKE a pattern: by case, and a backslash escapes if nothing else."""
    if text is None or pattern is None:
        return None
    written = _short(pattern)
    if escape != "\\":
        written = written.replace("\\", "\\\\").replace(escape, "\\")
    found = pc.match_like(pa.array([str(text)]), written, ignore_case=ignore_case)
    return int(found[0].as_py())


def _short(pattern: object) -> str:
    if len(str(pattern)) > MOST_PATTERN:
        raise ValueError("the pattern is too long")
    return str(pattern)


def _array(text: object) -> list[Any]:
    if text is None:
        return []
    if isinstance(text, str) and text.startswith("["):
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    return str(text).split()


def element(array: object, index: int) -> Any:
    """Return an element of an array; they count from one."""
    values = _array(array)
    return values[index - 1] if 1 <= index <= len(values) else None


def _length(array: object, _: int = 1) -> int | None:
    return len(_array(array)) or None


def _split(text: str | None, separator: str) -> str | None:
    return None if text is None else json.dumps(text.split(separator) if text else [])


def _joined(array: object, separator: str, *_: object) -> str | None:
    return None if array is None else separator.join(str(each) for each in _array(array))


def _series(first: int, last: int, step: int = 1) -> str:
    if step == 0 or abs((last - first) // step) > MOST_PATTERN:
        raise ValueError("a series is too long")
    return json.dumps(list(range(first, last + (1 if step > 0 else -1), step)))


def _without(array: object, value: object) -> str | None:
    return None if array is None else json.dumps([each for each in _array(array) if each != value])


def _subscripts(array: object, _: int = 1) -> str:
    return json.dumps(list(range(1, len(_array(array)) + 1)))


def _pretty(size: int | None) -> str | None:
    return None if size is None else f"{size} bytes"


def _nothing(*_: object) -> None:
    return None


def _yes(*_: object) -> int:
    return 1


def _no(*_: object) -> int:
    return 0


CATALOG_OIDS = {
    "pg_class": 1259,
    "pg_attribute": 1249,
    "pg_type": 1247,
    "pg_proc": 1255,
    "pg_namespace": 2615,
    "pg_constraint": 2606,
    "pg_database": 1262,
    "pg_description": 2609,
    "pg_index": 2610,
    "pg_trigger": 2620,
    "pg_rewrite": 2618,
    "pg_authid": 1260,
    "pg_language": 2612,
    "pg_tablespace": 1213,
    "pg_am": 2601,
    "pg_collation": 3456,
    "pg_extension": 3079,
    "pg_foreign_server": 1417,
    "pg_foreign_data_wrapper": 2328,
    "pg_event_trigger": 3466,
}
TEXTS = types.ARRAY_OF[types.TEXT]


def _words(text: str) -> list[str]:
    return text.split()


NOTHING_OF = _words(
    """
    col_description shobj_description pg_get_expr pg_get_partkeydef pg_get_indexdef
    pg_get_constraintdef pg_get_triggerdef pg_get_ruledef pg_get_functiondef
    pg_get_function_result pg_get_function_arguments pg_get_function_identity_arguments
    pg_get_serial_sequence pg_get_statisticsobjdef pg_get_statisticsobjdef_columns
    pg_tablespace_location inet_server_addr inet_client_addr inet_server_port to_regproc
    pg_sequence_last_value pg_stat_get_numscans pg_postmaster_start_time
    """
)
TRUE_OF = _words(
    """
    has_table_privilege has_schema_privilege has_database_privilege has_any_column_privilege
    has_column_privilege has_sequence_privilege has_function_privilege has_type_privilege
    pg_type_is_visible pg_has_role
    """
)
FALSE_OF = _words(
    """
    pg_is_in_recovery pg_function_is_visible pg_operator_is_visible pg_is_other_temp_schema
    pg_relation_is_publishable row_security_active pg_collation_is_visible
    pg_statistics_obj_is_visible pg_opclass_is_visible pg_ts_config_is_visible
    """
)
SIZE_OF = _words(
    "pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size pg_database_size"
)

FIXED: dict[str, SqlFunction] = {
    **{name: SqlFunction(_nothing, types.TEXT) for name in NOTHING_OF},
    **{name: SqlFunction(_yes, types.BOOL) for name in TRUE_OF},
    **{name: SqlFunction(_no, types.BOOL) for name in FALSE_OF},
    **{name: SqlFunction(_nothing, types.INT8) for name in SIZE_OF},
    "array_has": SqlFunction(lambda array, value: int(value in _array(array)), types.BOOL),
    "array_length": SqlFunction(_length, types.INT4),
    "array_upper": SqlFunction(_length, types.INT4),
    "array_lower": SqlFunction(lambda array, _=1: 1 if _array(array) else None, types.INT4),
    "array_to_string": SqlFunction(_joined, types.TEXT),
    "array_remove": SqlFunction(_without, TEXTS),
    "cardinality": SqlFunction(lambda array: len(_array(array)), types.INT4),
    "concat": SqlFunction(lambda *a: "".join("" if e is None else str(e) for e in a), types.TEXT),
    "element_at": SqlFunction(element, types.TEXT),
    "format_type": SqlFunction(format_type, types.TEXT),
    "subscripts_of": SqlFunction(_subscripts, TEXTS),
    "series_of": SqlFunction(_series, TEXTS),
    "like": SqlFunction(like, types.BOOL),
    "ilike_": SqlFunction(lambda p, t: like(p, t, ignore_case=True), types.BOOL),
    "matches": SqlFunction(matches, types.BOOL),
    "imatches": SqlFunction(lambda t, p: matches(t, p, ignore_case=True), types.BOOL),
    "pg_client_encoding": SqlFunction(lambda: "UTF8", types.NAME),
    "pg_encoding_to_char": SqlFunction(lambda _: "UTF8", types.NAME),
    "pg_my_temp_schema": SqlFunction(_no, types.OID),
    "pg_size_pretty": SqlFunction(_pretty, types.TEXT),
    "quote_ident": SqlFunction(quote_ident, types.TEXT),
    "to_regtype": SqlFunction(regtype_of, types.OID),
    "to_regnamespace": SqlFunction(lambda name: SCHEMAS.get(str(name)), types.OID),
    "to_regrole": SqlFunction(lambda _: OWNER, types.OID),
    "string_to_array": SqlFunction(_split, TEXTS),
    "txid_current": SqlFunction(lambda: DATABASE, types.INT8),
}
