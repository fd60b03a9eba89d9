"""The parts of SQL that all systems write alike: conditions, keys, aggregates."""

from collections.abc import Iterable, Mapping

from benchmarks.many.queries import Condition, Value

EXPRESSIONS: Mapping[str, str] = {
    "cars": "count(*)",
    "sum_mph": "sum(mph)",
    "avg_mph": "avg(mph)",
    "min_mph": "min(mph)",
    "max_mph": "max(mph)",
    "sum_weight": "sum(weight)",
    "max_weight": "max(weight)",
}


def conjunction(conditions: Iterable[Condition], prefix: str = "") -> list[str]:
    """Return the conditions as SQL, to be joined by AND."""
    return [prefix + _condition(each) for each in conditions]


def key(name: str) -> str:
    """Return the expression of a key; a bucket is a tenth of the cars."""
    return "substring(car, 1, 2)" if name == "bucket" else name


def aggregates(names: Iterable[str], expressions: Mapping[str, str] = EXPRESSIONS) -> list[str]:
    """Return aggregates under their names."""
    return [f"{expressions[name]} AS {name}" for name in names]


def _condition(condition: Condition) -> str:
    values = [_literal(value) for value in condition.values]
    match condition.operator:
        case "BETWEEN":
            return f"{condition.column} BETWEEN {values[0]} AND {values[1]}"
        case "IN":
            return f"{condition.column} IN ({', '.join(values)})"
        case operator:
            return f"{condition.column} {operator} {values[0]}"


def _literal(value: Value) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value}"
