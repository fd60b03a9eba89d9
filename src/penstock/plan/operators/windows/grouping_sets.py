"""Grouping sets: each tuple once for every set of keys, below whatever groups it.

The keys that a set leaves out are NULL for it (`key_sql`), and the set's number is a key too: so a
NULL of the data and a key that is left out are different groups.
"""

from collections.abc import Collection

from penstock.model.own_names import own

SET = own("grouping_set")


def each_set_sql(relation: str, sets: int) -> str:
    """Return the relation with its rows once for each set, or as it is without sets."""
    if not sets:
        return relation
    return f"(SELECT *, explode(array({_numbers(range(sets))})) AS {SET} FROM {relation})"


def key_sql(sql: str, places: Collection[int]) -> str:
    """Return a key that is in the sets of these numbers only."""
    if not places:
        return f"CASE WHEN FALSE THEN {sql} END"
    return f"CASE WHEN {SET} IN ({_numbers(places)}) THEN {sql} END"


def sets_text(sets: int) -> str:
    """Say how many sets there are, where there are any."""
    return f"; {sets} grouping sets" if sets else ""


def _numbers(places: Collection[int]) -> str:
    return ", ".join(map(str, sorted(places)))
