"""Which SELECTs are about the catalog or the session, rather than about streams and queries."""

from collections.abc import Sequence

from penstock.server.pg.text.lexer import Lexeme, Token

SCHEMAS = ("PG_CATALOG", "INFORMATION_SCHEMA")
# What a SELECT without FROM asks about the session or the catalog.
SESSION_FUNCTIONS = frozenset(
    """
    col_description current_database current_schema current_schemas current_setting format_type
    has_any_column_privilege has_database_privilege has_schema_privilege has_table_privilege
    inet_client_addr inet_server_addr inet_server_port obj_description pg_backend_pid
    pg_client_encoding pg_encoding_to_char pg_get_userbyid pg_get_viewdef pg_is_in_recovery
    pg_postmaster_start_time pg_table_is_visible quote_ident set_config to_regclass to_regtype
    txid_current version
    """.upper().split()
)
SESSION_WORDS = (
    "CURRENT_CATALOG",
    "CURRENT_ROLE",
    "CURRENT_SCHEMA",
    "CURRENT_USER",
    "SESSION_USER",
)
CONSTANTS = (Lexeme.STRING, Lexeme.NUMBER, Lexeme.PARAMETER)


def asks_catalog(tokens: Sequence[Token]) -> bool:
    """Say whether a SELECT reads the catalog, or nothing but the session or constants."""
    if any(_in_catalog(tokens, index) for index in range(len(tokens))):
        return True
    return not any(token.is_word("FROM") for token in tokens) and _about_session(tokens)


def _in_catalog(tokens: Sequence[Token], index: int) -> bool:
    """Say whether a name of the catalog stands here: with its schema, or after FROM or JOIN."""
    token, after = tokens[index], tokens[index + 1 : index + 2]
    if not token.is_name:
        return False
    if token.value.upper() in SCHEMAS:
        return bool(after) and after[0].is_word(".")
    follows = index > 0 and tokens[index - 1].is_word("FROM", "JOIN", ",")
    return follows and token.value.lower().startswith("pg_") and not _is(after, "(")


def _about_session(tokens: Sequence[Token]) -> bool:
    words = {token.value.upper() for token in tokens if token.kind is Lexeme.NAME}
    if words & SESSION_FUNCTIONS or words & set(SESSION_WORDS):
        return True
    return _only_constants(tokens)


def _only_constants(tokens: Sequence[Token]) -> bool:
    """Say whether a SELECT lists constants and computes nothing: `SELECT 1 AS one, 'x'`."""
    verb, *rest = tokens
    items = [list[Token]()]
    for token in rest:
        if token.is_word(","):
            items.append([])
        else:
            items[-1].append(token)
    return verb.is_word("SELECT") and all(map(_is_constant, items))


def _is_constant(item: Sequence[Token]) -> bool:
    """Say whether one column is a constant, which may be given a name."""
    match item:
        case [value]:
            pass
        case [value, word, name] if word.is_word("AS") and name.is_name:
            pass
        case _:
            return False
    return value.kind in CONSTANTS or value.is_word("TRUE", "FALSE", "NULL")


def _is(tokens: Sequence[Token], word: str) -> bool:
    return bool(tokens) and tokens[0].is_word(word)
