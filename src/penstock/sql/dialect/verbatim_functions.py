"""Functions as Spark will read them: verbatim, with the aggregates told apart.

sqlglot turns a function it knows into a node of its own and prints that node as it thinks best,
which is not always what Spark would have done: to_char(x, f) becomes CAST(x AS STRING). Here a
function keeps its name and arguments, and Spark alone judges them.
"""

from collections.abc import Callable

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser

Build = Callable[[list[exp.Expr]], exp.Expr]

# These have nodes of their own; every other aggregate is an exp.AnonymousAggFunc.
NAMED: dict[str, type[exp.Func]] = {
    "SUM": exp.Sum,
    "AVG": exp.Avg,
    "MEAN": exp.Avg,
    "MIN": exp.Min,
    "MAX": exp.Max,
}
AGGREGATES = """
    any any_value approx_count_distinct approx_percentile approx_top_k array_agg bit_and bit_or
    bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
    collect_set corr count_if count_min_sketch covar_pop covar_samp every first first_value
    histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis
    last last_value listagg max_by median min_by mode percentile percentile_approx percentile_cont
    percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp
    string_agg theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum var_pop
    var_samp variance
"""
# Their first argument is a unit of time, which would otherwise read as a column.
UNIT_FIRST = ("date_add", "date_diff", "dateadd", "datediff", "timestampadd", "timestampdiff")
# They have grammar of their own: CAST(x AS t), EXTRACT(f FROM x), TRIM(BOTH x FROM y), …
SPECIAL = ("CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM")
HINTS = (
    "BROADCAST",
    "BROADCASTJOIN",
    "MAPJOIN",
    "MERGE",
    "MERGEJOIN",
    "SHUFFLEMERGE",
    "SHUFFLE_HASH",
    "SHUFFLE_REPLICATE_NL",
)


def _named(name: str, node: type[exp.Func]) -> Build:
    def build(arguments: list[exp.Expr]) -> exp.Expr:
        # sqlglot prints max(a, b) as GREATEST; Spark refuses it.
        return node(this=arguments[0]) if len(arguments) == 1 else _aggregate(name)(arguments)

    return build


def _aggregate(name: str) -> Build:
    return lambda arguments: exp.AnonymousAggFunc(this=name, expressions=arguments)


def _unit_first(name: str) -> Build:
    def build(arguments: list[exp.Expr]) -> exp.Expr:
        first, *others = arguments or [exp.Null()]
        if len(others) == 2 and isinstance(first, exp.Column):  # noqa: PLR2004  (unit, count, time)
            arguments = [exp.var(first.name), *others]
        return exp.Anonymous(this=name, expressions=arguments)

    return build


def _bare(name: str, node: type[exp.Func]) -> Build:
    # current_timestamp is the same with and without parentheses.
    return lambda arguments: (
        exp.Anonymous(this=name, expressions=arguments) if arguments else node()
    )


FUNCTIONS: dict[str, Build] = {
    **{
        kind.name: _bare(kind.name.lower(), node)
        for kind, node in SparkParser.NO_PAREN_FUNCTIONS.items()
    },
    **{name.upper(): _unit_first(name) for name in UNIT_FIRST},
    **{name.upper(): _aggregate(name) for name in AGGREGATES.split()},
    **{name: _named(name.lower(), node) for name, node in NAMED.items()},
    "COUNT": SparkParser.FUNCTIONS["COUNT"],
    "LOCATE": SparkParser.FUNCTIONS["LOCATE"],  # POSITION(x IN y) prints as it
}
FUNCTION_PARSERS = {name: SparkParser.FUNCTION_PARSERS[name] for name in [*SPECIAL, *HINTS]}
NO_PAREN_FUNCTION_PARSERS = {
    name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
}
