"""The Penstock dialect: Spark's, with windows in brackets after what stands in FROM and JOIN."""

from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from penstock.sql.dialect import verbatim_functions as functions
from penstock.sql.dialect.clips import clip_sql, read_clip, sees_clip
from penstock.sql.dialect.contexts import read_context
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.trees import CLIP, CONTEXT, WINDOW, clip_of, context_of, window_of
from penstock.sql.dialect.windows import read_window, window_sql

# Spark knows no such types; as one token, a column named `double` would lose its type.
NOT_IN_SPARK = ("DOUBLE PRECISION", "CHAR VARYING", "CHARACTER VARYING")


class Penstock(Spark):
    """Spark SQL with windows; a query's clauses around the SELECT are our own grammar's."""

    # The binder tells ORDER BY ALL from a column of that name, which the text alone does not.
    SUPPORTS_ORDER_BY_ALL = False

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens; no word swallows the rest of its statement as text."""

        # Since Spark 4, a quote is doubled to stand in its own kind of string.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind
            for word, kind in Spark.Tokenizer.KEYWORDS.items()
            if kind is not TokenType.COMMAND and word not in NOT_IN_SPARK
        }

    class Parser(TokenReader):
        """Spark's queries and expressions, and nothing that is not a query."""

        _derived: exp.Expr | None = None  # what stood in the last parentheses of a FROM

        FUNCTIONS = functions.FUNCTIONS
        FUNCTION_PARSERS = functions.FUNCTION_PARSERS
        NO_PAREN_FUNCTION_PARSERS = functions.NO_PAREN_FUNCTION_PARSERS
        STRICT_CAST = True  # CAST is an exp.Cast, TRY_CAST an exp.TryCast
        STRING_PARSERS: ClassVar[dict[TokenType, Any]] = {
            kind: lambda self, token: self.expression(exp.Literal.string(token.text), token)
            for kind in (TokenType.STRING, TokenType.RAW_STRING)
        }
        PRIMARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
            **SparkParser.PRIMARY_PARSERS,
            **STRING_PARSERS,
        }
        COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
            kind: SparkParser.COLUMN_OPERATORS[kind] for kind in (TokenType.DOT, TokenType.DCOLON)
        }
        BRACKETS = frozenset({TokenType.L_BRACKET})
        # xs[0] is an element, whatever xs is called.
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
        # Nothing is filled in later, so ?, :name and {name} stand for nothing.
        PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Any]] = {}

        def select(self) -> exp.Query:
            """Read a SELECT, a WITH, or several of them under UNION."""
            query = self._parse_statement()
            if not isinstance(query, exp.Query):
                self.miss("a SELECT")
            return query

        def _parse_statement(self) -> exp.Expr | None:
            query = self._parse_set_operations(self._parse_select(nested=True))
            return self._parse_query_modifiers(query) or self.miss("a SELECT")

        def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
            leading = self.sees(",")
            projections, others = super()._parse_projections()
            if leading or not projections or self._prev.token_type is TokenType.COMMA:
                self.raise_error("Expected a column")
            return projections, others

        def _parse_describe(self) -> exp.Describe:
            self.miss("a SELECT")

        def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
            # WINDOW may begin a clause after GROUP BY; before ( it is Spark's function.
            if self.sees("GROUP BY", "WINDOW", "("):
                self._next.token_type = TokenType.VAR
            if self.sees("GROUP BY", "DISTINCT"):  # it would be read, and forgotten
                hint = "leave DISTINCT out; a column of this name stands in backticks"
                self.fail("Spark has no GROUP BY DISTINCT", hint=hint, token=self._next)
            return super()._parse_group(skip_group_by_token)

        def _parse_into(self) -> exp.Into | None:
            return None  # INTO names a query's sink, after the SELECT

        def _parse_limit(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            token, limit = self._curr, super()._parse_limit(*args, **kwargs)
            if not isinstance(limit, exp.Fetch):
                return limit
            options = limit.args.get("limit_options")
            for name, written in (("percent", "PERCENT"), ("with_ties", "WITH TIES")):
                if options and options.args.get(name):  # it would print as LIMIT n
                    hint = "FETCH FIRST n ROWS ONLY, or rank() and QUALIFY"
                    self.fail(f"FETCH … {written} does not run", hint=hint, token=token)
            return exp.Limit(expression=limit.args.get("count") or exp.Literal.number(1))

        def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            table = super()._parse_table(*args, **kwargs)
            if isinstance(table, exp.Table) and sees_clip(self):
                table.set(CLIP, read_clip(self))
                if not table.alias:
                    table.set("alias", self._parse_table_alias())
            return self._parse_window_after(table) if self.sees("[") else table

        def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
            # WITHIN (time FROM … would be read as another name, with columns.
            return None if sees_clip(self) else super()._parse_table_alias(*args, **kwargs)

        def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
            if isinstance(this, exp.Table) and self.sees("["):
                return self._parse_window_after(this)
            return super()._parse_bracket(this)

        def _parse_wrapped_select(self, table: bool = False) -> exp.Expr | None:
            wrapped = super()._parse_wrapped_select(table=table)
            self._derived = wrapped if table else None
            return wrapped

        def _parse_subquery(
            self, this: exp.Expr | None, parse_alias: bool = True
        ) -> exp.Subquery | None:
            # In an expression, a bracket after a subquery takes an element of its value.
            in_from = this is not None and this is self._derived
            window = None
            if in_from and self.sees("["):
                window = window_of(self._parse_window_after(exp.Subquery(this=this)))
            subquery = super()._parse_subquery(this, parse_alias)
            if subquery and window:
                subquery.set(WINDOW, window)
            if subquery and in_from and self.sees("["):
                self._parse_window_after(subquery)
            return subquery

        def _parse_window_after(self, node: exp.Expr | None) -> exp.Expr:
            if node is None or not _can_have_window(node):
                self.fail(
                    "a window stands after the name of a stream or query, or after a subquery",
                    hint="FROM traffic [RANGE 1 MINUTE], or FROM (SELECT …) [RANGE 1 MINUTE] AS x",
                )
            if isinstance(node, exp.Table) and self.sees("[", "CONTEXT"):
                if context_of(node):
                    self.fail(f"{node.alias_or_name} has a CONTEXT already", hint="keep one")
                node.set(CONTEXT, read_context(self))
                return self._parse_window_after(node) if self.sees("[") else node
            if window_of(node):
                name = node.alias_or_name or "the subquery"
                self.fail(f"{name} has a window already", hint="keep one of the two")
            node.set(WINDOW, read_window(self))
            return node

        def _parse_interval(self, *args: Any, **kwargs: Any) -> exp.Expr | None:  # type: ignore[override]
            interval = super()._parse_interval(*args, **kwargs)
            if isinstance(interval, exp.Interval):
                interval.set("fraction_in_string", None)  # '1.5 seconds' is '1.5' SECONDS
            # INTERVAL 1 HOUR 30 MINUTES is a sum; bare, x - 1 h 30 min would print as x - 1 h + 30.
            return exp.Paren(this=interval) if isinstance(interval, exp.Add) else interval

        def _parse_primary(self) -> exp.Expr | None:
            primary = super()._parse_primary()
            if isinstance(primary, exp.Concat):  # strings side by side are one string
                return exp.Literal.string("".join(part.name for part in primary.expressions))
            return primary

        def _parse_at_time_zone(self, this: exp.Expr | None) -> exp.Expr | None:
            return this  # Spark has functions for it

        def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            # In Spark's expressions a type's name before ( is a function: struct(a), int(x).
            if kwargs.get("check_func") and self._next.token_type is TokenType.L_PAREN:
                return None
            return super()._parse_types(*args, **kwargs)

    class Generator(SparkGenerator):
        """Spark's text, with the window of each table and subquery behind it."""

        TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
            # What was written for Spark needs no rewriting for it.
            **{
                node: rule
                for node, rule in SparkGenerator.TRANSFORMS.items()
                if node is not exp.Select
            },
            # As functions they would bind as sqlglot read them, not as Spark does.
            exp.BitwiseLeftShift: lambda self, e: self.binary(e, "<<"),
            exp.BitwiseRightShift: lambda self, e: self.binary(e, ">>"),
        }

        # Spark has WITH inside brackets; moved to the front, its names would hide others.
        EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()

        def table_parts(self, expression: exp.Table) -> str:
            """Return the table's name and window."""
            name = super().table_parts(expression)
            window, context = window_of(expression), context_of(expression)
            name = f"{name} [CONTEXT {context}]" if context else name
            clip = clip_of(expression)
            name = f"{name} {clip_sql(clip)}" if clip else name
            return f"{name} [{window_sql(window)}]" if window else name

        def wrap(self, expression: exp.Expr | str) -> str:
            """Return what stands in parentheses, with a subquery's window behind them."""
            text = super().wrap(expression)
            window = window_of(expression) if isinstance(expression, exp.Expr) else None
            return f"{text} [{window_sql(window)}]" if window else text


def _can_have_window(node: exp.Expr) -> bool:
    """Say whether a window may follow; parentheses around names and joins are no query."""
    if isinstance(node, exp.Subquery):
        return isinstance(node.unnest(), exp.Query)
    return isinstance(node, exp.Table)
