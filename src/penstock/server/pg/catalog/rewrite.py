"""A question about the catalog, from PostgreSQL's SQL into SQLite's, with its columns' types."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser

from penstock.errors import BadQueryError, NotYetError, SqlError
from penstock.server.pg.catalog.functions import SqlFunction
from penstock.server.pg.catalog.tables import NAMED, TABLES, columns_of
from penstock.server.pg.values import types
from penstock.server.pg.values.types import PgType

SCHEMAS = ("pg_catalog", "information_schema")
PREDICATES = (
    exp.Predicate,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Boolean,
    exp.Exists,
    exp.In,
    exp.Between,
    exp.Is,
)
OBJECT_TYPES = ("regclass", "regtype", "regnamespace", "regrole", "regproc", "regprocedure")
RENAMED = {
    "generate_series": "series_of",
    "generate_subscripts": "subscripts_of",
    "string_agg": "group_concat",
    "array_agg": "json_group_array",
    "json_build_object": "json_object",
    "jsonb_build_object": "json_object",
    "bool_or": "max",
    "bool_and": "min",
    "least": "min",
    "greatest": "max",
    "btrim": "trim",
    "char_length": "length",
    "unnest": "json",
    "now": "now_",
}
AS_TABLES = {"pg_get_keywords": "pg_keywords", "pg_show_all_settings": "pg_settings"}
SESSION_WORDS = {
    "current_user": "pg_current_user",
    "current_role": "pg_current_user",
    "session_user": "pg_current_user",
    "user": "pg_current_user",
    "current_catalog": "current_database",
    "current_database": "current_database",
    "current_schema": "current_schema",
}
RETURNS = {"count": types.INT8, "row_number": types.INT8, "length": types.INT4}
RETURNS |= {"upper": types.TEXT, "lower": types.TEXT, "substring": types.TEXT}


class Catalog(Postgres):
    """PostgreSQL's SQL with functions left as they are written."""

    class Parser(PostgresParser):
        """No function becomes anything but a call of its name."""

        FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {
            name: parser
            for name, parser in PostgresParser.FUNCTION_PARSERS.items()
            if name in ("CAST", "SUBSTRING", "TRIM", "EXTRACT", "POSITION")
        }


@dataclass(frozen=True, slots=True)
class Question:
    """What SQLite is asked; `types` are the columns' as far as the text tells."""

    sql: str
    types: tuple[PgType | None, ...] | None  # None: there is a * among them
    names: tuple[str, ...]
    known: Mapping[str, PgType]  # the columns of the tables that it reads


@dataclass(frozen=True, slots=True)
class Known:
    """What types are known: of columns and functions, by name."""

    columns: Mapping[str, PgType]
    functions: Mapping[str, SqlFunction]


def question(text: str, functions: Mapping[str, SqlFunction], empty: frozenset[str]) -> Question:
    """Return a question for SQLite; `empty` are tables without rows."""
    tree = _parsed(text)
    _refuse_others(tree, _own_names(tree))
    selects = list(_top_selects(tree))
    names = tuple(_name_of(each) for each in selects[0].expressions)
    known = _columns_read(tree)
    kinds = _types(selects[0], Known(known, functions))
    if _is_empty(selects, empty) and kinds is not None:
        nulls = ", ".join("NULL" for _ in names)
        return Question(f"SELECT {nulls} WHERE 0", kinds, names, known)
    _name_columns(tree)
    rewritten = _everywhere(_everywhere(tree, _without_quantifiers), _rewritten)
    return Question(str(rewritten.sql(dialect=SQLite, comments=False)), kinds, names, known)


def _parsed(text: str) -> exp.Query:
    try:
        trees = [each for each in Catalog().parse(text) if each is not None]
    except SqlglotError as error:
        found = getattr(error, "errors", None) or [{}]
        raise SqlError(
            str(found[0].get("description") or "this statement cannot be read"),
            hint="questions about the catalog are read as PostgreSQL's",
        ) from None
    except RecursionError:
        raise SqlError("nested too deeply", hint="nest it less") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query) or trees[0].find(exp.Into):
        raise SqlError("one SELECT was expected")
    return trees[0]


def _columns_read(tree: exp.Query) -> dict[str, PgType]:
    """Return the columns of the catalog's tables that a question reads."""
    found: dict[str, PgType] = {}
    for table in tree.find_all(exp.Table):
        tables = TABLES.get(table.db.lower(), TABLES["pg_catalog"])
        found |= columns_of(tables[table.name.lower()]) if table.name.lower() in tables else {}
    return found


def _own_names(tree: exp.Query) -> set[str]:
    return {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}


def _refuse_others(tree: exp.Query, own: set[str]) -> None:
    """Refuse tables that are none of the catalog's, and its tables that are not there."""
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.name.lower() in own:
            continue
        name, schema = table.name.lower(), table.db.lower()
        known = TABLES[schema] if schema in TABLES else {**TABLES["pg_catalog"]}
        if schema in ("", *SCHEMAS) and name in known:
            continue
        if schema in SCHEMAS or (not schema and name.startswith("pg_")):
            raise NotYetError(
                f"{schema or 'pg_catalog'} has no {name}",
                hint="information_schema.tables and .columns tell what there is",
            )
        raise BadQueryError(
            f"{name} and the catalog cannot be asked in one SELECT",
            hint="ask for them one after the other",
        )


def _top_selects(tree: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs whose rows are the answer, under UNION."""
    match tree:
        case exp.Select():
            yield tree
        case exp.SetOperation():
            yield from _top_selects(tree.left)
            yield from _top_selects(tree.right)
        case exp.Subquery():
            yield from _top_selects(tree.unnest())
        case _:
            raise NotYetError("this question about the catalog does not run", hint="SELECT … FROM")


def _is_empty(selects: list[exp.Select], empty: frozenset[str]) -> bool:
    """Say whether no row can come: each SELECT reads a table without rows, by FROM or JOIN."""
    return all(_reads_nothing(each, empty) for each in selects)


def _reads_nothing(select: exp.Expr, empty: frozenset[str]) -> bool:
    origin, joins = select.args.get("from_"), select.args.get("joins") or []
    if origin is None:
        return False
    if not select.args.get("group") and any(_is_total(each) for each in select.expressions):
        return False
    inner = [join.this for join in joins if not join.side]
    if any(join.side in ("RIGHT", "FULL") for join in joins):
        return False
    return any(_has_no_rows(each, empty) for each in (origin.this, *inner))


def _has_no_rows(table: exp.Expr, empty: frozenset[str]) -> bool:
    match table:
        case exp.Table():
            return isinstance(table.this, exp.Identifier) and table.name.lower() in empty
        case exp.Subquery() if isinstance(table.unnest(), exp.Select):
            return _reads_nothing(table.unnest(), empty)
        case _:
            return False


def _is_total(projection: exp.Expr) -> bool:
    names = ("count", "sum", "min", "max", "array_agg", "string_agg", "bool_or", "bool_and")
    calls = [each for each in projection.find_all(exp.Anonymous) if each.name.lower() in names]
    return bool(calls) or projection.find(exp.AggFunc) is not None


def _name_columns(tree: exp.Query) -> None:
    """Give each column of each SELECT the name that PostgreSQL gives it."""
    for select in tree.find_all(exp.Select):
        named = [
            each
            if isinstance(each, exp.Alias | exp.Star | exp.Column)
            else exp.alias_(each.copy(), _name_of(each), quoted=True)
            for each in select.expressions
        ]
        select.set("expressions", named)


def _name_of(projection: exp.Expr) -> str:
    match projection:
        case exp.Alias() | exp.Column():
            return projection.alias_or_name
        case exp.Cast():
            inner = _name_of(projection.this)
            return _type_name(projection) if inner == "?column?" else inner
        case exp.Dot():
            return _name_of(projection.expression)
        case exp.Identifier():
            return projection.name
        case exp.Anonymous():
            return projection.name.lower()
        case exp.Func() if not isinstance(projection, (exp.Case, exp.Array, *PREDICATES)):
            return str(projection.sql_name()).lower()
        case exp.Case():
            default = projection.args.get("default")
            found = _name_of(default) if default is not None else "?column?"
            return "case" if found == "?column?" else found
        case exp.Subquery():
            return _name_of(next(_top_selects(projection.unnest())).expressions[0])
        case exp.Exists():
            return "exists"
        case exp.Array():
            return "array"
        case exp.Paren() | exp.Bracket() | exp.Collate() | exp.Window() | exp.Filter():
            return _name_of(projection.this)
        case exp.Boolean():
            return "bool"
        case _:
            return "?column?"


def _types(select: exp.Select, known: Known) -> tuple[PgType | None, ...] | None:
    if any(each.is_star for each in select.expressions):
        return None
    return tuple(_type_of(each, known) for each in select.expressions)


def _type_of(tree: exp.Expr, known: Known) -> PgType | None:
    match tree:
        case exp.Alias() | exp.Paren() | exp.Collate() | exp.Window() | exp.Filter():
            return _type_of(tree.this, known)
        case exp.Column() if not tree.table and tree.name.lower() in SESSION_WORDS:
            return types.NAME
        case exp.Column():
            return known.columns.get(tree.name.lower())
        case exp.Dot():
            return _type_of(tree.expression, known)
        case exp.Cast():
            return _cast_type(tree)
        case exp.Array():
            return types.ARRAY_OF[types.TEXT]
        case exp.Anonymous():
            return _returned(tree, known)
        case exp.Subquery():
            return _type_of(next(_top_selects(tree.unnest())).expressions[0], known)
        case exp.Case():
            branches = [each.args["true"] for each in tree.args["ifs"]]
            default = tree.args.get("default")
            found = [_type_of(each, known) for each in [*branches, default] if each is not None]
            return next((each for each in found if each is not None), None)
        case exp.Literal() if not tree.is_string:
            return types.INT4 if tree.is_int else types.NUMERIC
        case exp.Neg():
            return _type_of(tree.this, known)
        case exp.Literal() | exp.DPipe():
            return types.TEXT
        case _ if isinstance(tree, PREDICATES):
            return types.BOOL
        case _:
            return None


def _returned(call: exp.Anonymous, known: Known) -> PgType | None:
    name = call.name.lower()
    if name in ("coalesce", "nullif", "min", "max") and call.expressions:
        return _type_of(call.expressions[0], known)
    if name in ("array", "array_agg"):
        return types.ARRAY_OF[types.TEXT]
    if name in known.functions:
        return known.functions[name].returns
    return RETURNS.get(name)


def _type_name(cast: exp.Expr) -> str:
    """Return the name of the type of a cast, without its schema and in PostgreSQL's words."""
    to = cast.args["to"]
    if isinstance(to, exp.DataType) and to.this == exp.DataType.Type.USERDEFINED:
        kind = to.args.get("kind")
        name = kind.name if isinstance(kind, exp.Expr) else str(kind)
        return (name or str(kind)).rpartition(".")[2].strip('"').lower()
    written = str(to.sql(dialect=Postgres)).lower()
    short = {each.sql: each.name for each in NAMED.values()}
    return short.get(written, {"int": "int4", "char": "bpchar"}.get(written, written))


def _cast_type(cast: exp.Expr) -> PgType | None:
    name = _type_name(cast)
    if name.endswith("[]"):
        element = NAMED.get(name.removesuffix("[]"))
        return types.ARRAY_OF.get(element) if element is not None else None
    if name in OBJECT_TYPES:
        return types.TEXT
    return NAMED.get(name.partition("(")[0])


def _everywhere(tree: exp.Expr, rewrite: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Rewrite every node, those below others before them."""
    for node in reversed(list(tree.walk())):
        replaced = rewrite(node)
        if replaced is not node and node is tree:
            return replaced
        if replaced is not node:
            node.replace(replaced)
    return tree


def _without_quantifiers(node: exp.Expr) -> exp.Expr:
    """Return x = ANY (…) as x IN (…)."""
    match node:
        case exp.EQ() if isinstance(node.expression, exp.Any):
            return _any(node.this, node.expression)
        case exp.NEQ() if node.expression.name.upper() == "ALL" and node.expression.expressions:
            return exp.Not(this=exp.Paren(this=_any(node.this, node.expression)))
        case _:
            return node


def _rewritten(node: exp.Expr) -> exp.Expr:
    """Return what SQLite knows in the place of one node; those below are rewritten already."""
    match node:
        case exp.Dot() if isinstance(node.expression, exp.Anonymous):
            return node.expression
        case exp.Anonymous() if node.name.lower() == "array":
            return _array(node)
        case exp.Anonymous():
            return _call(node)
        case exp.Column() if not node.table and node.name.lower() in SESSION_WORDS:
            return _called(SESSION_WORDS[node.name.lower()])
        case exp.CurrentUser() | exp.SessionUser() | exp.CurrentRole():
            return _called("pg_current_user")
        case exp.CurrentCatalog() | exp.CurrentDatabase():
            return _called("current_database")
        case exp.CurrentSchema():
            return _called("current_schema")
        case exp.Cast():
            return _cast(node)
        case exp.Collate():
            return _expr(node.this)
        case exp.Operator():
            return _operator(node)
        case exp.RegexpLike():
            return _called("matches", node.this, node.expression)
        case exp.RegexpILike():
            return _called("imatches", node.this, node.expression)
        case exp.ILike():
            return _called("ilike_", node.expression, node.this)
        case exp.Array() | exp.List():
            return _array(node)
        case exp.Bracket():
            return _element(node)
        case exp.Table() if isinstance(node.this, exp.Func) and node.this.name in AS_TABLES:
            alias = node.alias or node.this.name
            return exp.alias_(exp.to_table(AS_TABLES[node.this.name]), alias, table=True)
        case exp.Table() if isinstance(node.this, exp.Func):
            return _table_function(node, node.this)
        case exp.Unnest():
            return _table_function(node, _called("json", *node.expressions))
        case exp.Extract():
            raise NotYetError("EXTRACT does not run over the catalog", hint="leave it out")
        case _:
            return node


def _expr(node: exp.Expr) -> exp.Expr:
    return node


def _called(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[each.copy() for each in arguments])


def _call(call: exp.Anonymous) -> exp.Expr:
    name = call.name.lower()
    arguments = [each.this if isinstance(each, exp.Order) else each for each in call.expressions]
    return exp.Anonymous(this=RENAMED.get(name, name), expressions=arguments)


def _operator(node: exp.Operator) -> exp.Expr:
    sign = str(node.args["operator"]).rpartition(".")[2]
    calls = {"~": "matches", "!~": "matches", "~*": "imatches", "!~*": "imatches"}
    if sign in calls:
        call = _called(calls[sign], node.this, node.expression)
        return exp.Not(this=call) if sign.startswith("!") else call
    plain: dict[str, type[exp.Binary]] = {
        "=": exp.EQ,
        "<>": exp.NEQ,
        "<": exp.LT,
        ">": exp.GT,
        "~~": exp.Like,
    }
    if sign not in plain:
        raise NotYetError(f"the operator {sign} does not run over the catalog")
    return plain[sign](this=node.this, expression=node.expression)


def _cast(node: exp.Cast) -> exp.Expr:
    name = _type_name(node)
    inner: exp.Expr = node.this
    if name == "regclass":
        of = "to_regclass" if _is_string(inner) else "regclass_name"
        return _called(of, inner)
    if name in ("regtype", "regnamespace"):
        if _is_string(inner):
            return _called(f"to_{name}", inner)
        return _called("format_type", inner) if name == "regtype" else inner
    if name in ("oid", "int4", "int8", "int2", "integer", "bigint", "smallint"):
        return exp.Cast(this=inner, to=exp.DataType.build("INTEGER"))
    if name in ("text", "varchar", "name", "bpchar"):
        return exp.Cast(this=inner, to=exp.DataType.build("TEXT"))
    if name in ("bool", "boolean") and _is_string(inner):
        return exp.Boolean(this=inner.name.lower()[:1] in ("t", "y", "1"))
    return inner


def _is_string(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _any(value: exp.Expr, quantified: exp.Expr) -> exp.Expr:
    of_any = isinstance(quantified, exp.Any)
    inner: exp.Expr = quantified.this if of_any else quantified.expressions[0]
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    match inner:
        case exp.Select():
            return exp.In(this=value, query=exp.Subquery(this=inner))
        case exp.Array() if not (inner.expressions and isinstance(inner.expressions[0], exp.Query)):
            return exp.In(this=value, expressions=inner.expressions)
        case exp.Literal() if inner.is_string and inner.name.startswith("{"):
            each = inner.name.strip("{}").split(",")
            return exp.In(this=value, expressions=[exp.Literal.string(e.strip('"')) for e in each])
        case _:
            return _called("array_has", inner, value)


def _array(node: exp.Expr) -> exp.Expr:
    if node.expressions and isinstance(node.expressions[0], exp.Query):
        query = node.expressions[0]
        column = query.expressions[0].alias_or_name if isinstance(query, exp.Select) else ""
        values = _called("json_group_array", exp.column(column, quoted=True))
        return exp.Subquery(this=exp.select(values).from_(exp.Subquery(this=query)))
    return _called("json_array", *node.expressions)


def _element(node: exp.Bracket) -> exp.Expr:
    """Return an element of an array; the reader counts those of literals from zero."""
    index = node.expressions[0]
    if isinstance(index, exp.Literal) and index.is_int:
        index = exp.Literal.number(int(index.name) + 1)
    return _called("element_at", node.this, index)


def _table_function(node: exp.Table | exp.Unnest, call: exp.Expr) -> exp.Expr:
    """Return a function in FROM as rows: each element of its array, or its value as one row."""
    alias = node.alias or call.name.lower()
    columns = node.alias_column_names
    column = columns[0] if columns else alias
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    if name in ("json", "series_of", "subscripts_of"):
        values = exp.select(exp.alias_(exp.column("value"), column, quoted=True)).from_(
            exp.Table(this=_called("json_each", call))
        )
    else:
        values = exp.select(exp.alias_(call.copy(), column, quoted=True))
    return exp.Subquery(
        this=values, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    )
