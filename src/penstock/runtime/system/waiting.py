"""Waiting: queries that were refused, and come in, in their order, when there is room."""

from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.model.definitions import QueryState
from penstock.qos.contracts.admission import Refused
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.system.prospect import room_for
from penstock.runtime.system.steering import let_go_on

if TYPE_CHECKING:
    from penstock.runtime.system.system import System


def let_wait(system: "System", known: KnownQuery, refused: Refused) -> str:
    """Keep a query that has no room now; who subscribes to it waits, too; while quiesced."""
    name = known.definition.name
    query = system.live_query(known, QueryState.WAITING)
    query.cause = refused.text()
    system.topology.waiting[name.lower()] = query
    system.catalog.set_state(name, QueryState.WAITING, query.cause)
    return f"query {name} waits for room: {query.cause}"


def admit(system: "System") -> None:
    """Let in who waits and has room, while quiesced; who has none keeps those behind it waiting.

    Otherwise one that needs much would wait for ever while small ones come.
    """
    with system.catalog.together():
        while system.topology.waiting and _admit_first(system):
            system.cutter.reconnect()  # the next one shares with it


def _admit_first(system: "System") -> bool:
    name, query = next(iter(system.topology.waiting.items()))
    known = KnownQuery(query.definition, query.root, frozenset())
    try:
        refused = room_for(system, known)
        cause = "" if refused is None else refused.text()
    except PenstockError as error:  # what it was promised cannot be kept any more, by anybody
        cause = error.message
    if not cause:
        del system.topology.waiting[name]
        let_go_on(system, query)
        return True
    if cause != query.cause:
        system.topology.set_state(query, QueryState.WAITING, cause)
    return False
