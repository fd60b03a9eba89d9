"""ALTER QUERY: other goals for a query, while it runs or stands; only at rest."""

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.model.goals import Terms
from penstock.sql import amended

if TYPE_CHECKING:
    from penstock.runtime.system import System


def alter_query(system: "System", name: str, terms: Terms) -> str:
    """Give a query other goals; its operators, its state and who reads it stay.

    Where it has them already nothing is done, so that doing it again is doing it once.
    """
    known = system.directory.query(name)
    old = known.definition
    goals = terms.applied(old.goals)
    if goals == old.goals:
        return f"query {old.name} stands like this already"
    new = replace(old, goals=goals, text=amended(old, goals))
    system.catalog.amend(old.name, new.text)
    system.directory.add(replace(known, definition=new))
    plant = system.plant
    for held in (plant.queries, plant.suspended, plant.waiting, plant.finished):
        if (query := held.get(old.name.lower())) is not None:
            query.alter(new)
    return f"query {old.name} is altered"
