"""The laws of catalogs, over every implementation."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.catalog import Catalog, CatalogEntry, MemoryCatalog, SqlCatalog, SqliteCatalog
from penstock.errors import NameTakenError, UnknownNameError
from penstock.model.definitions import QueryState
from tests.examples import examples
from tests.servers.journals import opened

Make = Callable[[Path], Catalog]
CATALOGS: dict[str, Make] = {
    "memory": lambda _: MemoryCatalog(),
    "sqlite": lambda home: SqliteCatalog(home / "catalog.db"),
}


@pytest.fixture(params=[*CATALOGS, "postgresql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    with closing(made_of(request, tmp_path)) as made:
        yield made


def made_of(request: pytest.FixtureRequest, home: Path) -> Catalog:
    if request.param == "postgresql":
        return SqlCatalog(opened(request.getfixturevalue("postgres").database()), "there")
    return CATALOGS[request.param](home)


def names(catalog: Catalog) -> list[str]:
    return [entry.name for entry in catalog.all()]


def test_a_new_catalog_is_empty(catalog: Catalog) -> None:
    assert catalog.all() == []
    assert catalog.get("traffic") is None


def test_what_is_put_is_found_as_it_was_put(catalog: Catalog) -> None:
    text = "CREATE STREAM `Größe` (a INT)\n  FROM push() -- it's \U0001f697"
    put = catalog.put("STREAM", "Größe", text)
    assert put == CatalogEntry("STREAM", "Größe", text, put.incarnation, None, "")
    assert catalog.get("Größe") == put
    assert catalog.all() == [put]


def test_names_are_found_whatever_their_case(catalog: Catalog) -> None:
    put = catalog.put("STREAM", "Größe", "CREATE …")
    assert catalog.get("GRÖßE") == put
    catalog.set_state("gRöße", QueryState.RUNNING)
    catalog.remove("größe")
    assert catalog.all() == []


@pytest.mark.parametrize("kind", ["STREAM", "TABLE", "QUERY"])
def test_a_name_is_taken_across_kinds_and_cases(catalog: Catalog, kind: str) -> None:
    held = catalog.put("STREAM", "traffic", "one")
    with pytest.raises(NameTakenError):
        catalog.put(kind, "TRAFFIC", "two")  # type: ignore[arg-type]  # parametrized
    assert catalog.all() == [held]


def test_replacing_gives_a_new_incarnation_without_a_state(catalog: Catalog) -> None:
    first = catalog.put("QUERY", "fast", "one")
    catalog.set_state("fast", QueryState.FAILED, "why")
    second = catalog.put("QUERY", "FAST", "two", replace=True)
    assert second.incarnation > first.incarnation
    assert catalog.all() == [CatalogEntry("QUERY", "FAST", "two", second.incarnation, None, "")]


def test_replacing_what_is_not_there_puts_it(catalog: Catalog) -> None:
    put = catalog.put("TABLE", "roads", "one", replace=True)
    assert catalog.all() == [put]


def test_another_kind_is_not_replaced(catalog: Catalog) -> None:
    held = catalog.put("STREAM", "traffic", "one")
    with pytest.raises(NameTakenError):
        catalog.put("QUERY", "traffic", "two", replace=True)
    assert catalog.all() == [held]


def test_entries_come_by_incarnation(catalog: Catalog) -> None:
    for name in ("b", "a", "c"):
        catalog.put("STREAM", name, name)
    catalog.put("STREAM", "b", "again", replace=True)
    assert names(catalog) == ["a", "c", "b"]


def test_an_incarnation_is_never_given_twice(catalog: Catalog) -> None:
    given = []
    for _ in range(3):
        given.append(catalog.put("STREAM", "s", "x").incarnation)
        catalog.remove("s")
    given += [catalog.put("STREAM", "s", "x", replace=True).incarnation for _ in range(3)]
    assert given == sorted(set(given))


def test_a_state_and_its_cause_are_kept_until_the_next(catalog: Catalog) -> None:
    put = catalog.put("QUERY", "fast", "x")
    catalog.set_state("fast", QueryState.FAILED, "RUN_FAILED: no room\nhint: make some")
    found = catalog.get("fast")
    assert found is not None
    assert (found.state, found.cause) == (QueryState.FAILED, "RUN_FAILED: no room\nhint: make some")
    assert found.incarnation == put.incarnation
    catalog.set_state("fast", QueryState.RUNNING)
    assert catalog.all() == [
        CatalogEntry("QUERY", "fast", "x", put.incarnation, QueryState.RUNNING, "")
    ]


@pytest.mark.parametrize("state", list(QueryState))
def test_every_state_is_kept(catalog: Catalog, state: QueryState) -> None:
    catalog.put("QUERY", "fast", "x")
    catalog.set_state("fast", state)
    assert [entry.state for entry in catalog.all()] == [state]


def test_another_text_changes_nothing_else(catalog: Catalog) -> None:
    first = catalog.put("QUERY", "Fast", "one")
    catalog.put("QUERY", "faster", "SELECT FROM fast")
    catalog.set_state("fast", QueryState.FAILED, "why")
    catalog.amend("FAST", "two")
    amended = CatalogEntry("QUERY", "Fast", "two", first.incarnation, QueryState.FAILED, "why")
    assert catalog.get("fast") == amended
    assert names(catalog) == ["Fast", "faster"]


def test_what_is_not_there_cannot_be_removed_or_change(catalog: Catalog) -> None:
    with pytest.raises(UnknownNameError):
        catalog.amend("traffic", "x")
    with pytest.raises(UnknownNameError):
        catalog.remove("traffic")
    with pytest.raises(UnknownNameError):
        catalog.set_state("traffic", QueryState.STOPPED)


def test_a_removed_name_is_free_for_any_kind(catalog: Catalog) -> None:
    catalog.put("STREAM", "traffic", "one")
    catalog.remove("traffic")
    catalog.put("QUERY", "traffic", "two")
    assert names(catalog) == ["traffic"]


def test_threads_may_put_at_the_same_time(catalog: Catalog) -> None:
    def put(prefix: str) -> None:
        for number in range(20):
            catalog.put("STREAM", f"{prefix}{number}", "x")
            catalog.set_state(f"{prefix}{number}", QueryState.RUNNING)

    threads = [threading.Thread(target=put, args=(prefix,)) for prefix in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = catalog.all()
    assert len({entry.incarnation for entry in entries}) == len(entries) == 80


def test_only_one_of_many_threads_gets_a_name(catalog: Catalog) -> None:
    taken: list[str] = []

    def put() -> None:
        try:
            catalog.put("STREAM", "traffic", "x")
        except NameTakenError:
            taken.append("traffic")

    threads = [threading.Thread(target=put) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 7
    assert names(catalog) == ["traffic"]


some_names = st.sampled_from(["a", "A", "b", "B"])
some_kinds = st.sampled_from(["STREAM", "QUERY"])
steps = st.lists(
    st.tuples(st.just("put"), some_kinds, some_names, st.text(max_size=3), st.booleans())
    | st.tuples(st.just("remove"), some_names)
    | st.tuples(st.just("amend"), some_names, st.text(max_size=3))
    | st.tuples(st.just("set_state"), some_names, st.sampled_from(list(QueryState)))
    | st.tuples(st.just("reopen")),
    max_size=12,
)


def step(catalog: Catalog, action: str, *arguments: object) -> object:
    """Take a step, and return what came of it."""
    try:
        match action, arguments:
            case "put", (kind, name, text, replace):
                return catalog.put(kind, name, text, replace=replace)  # type: ignore[arg-type]
            case _:
                return getattr(catalog, action)(*arguments)
    except (NameTakenError, UnknownNameError) as error:
        return error.code


@settings(deadline=None, max_examples=examples(60))
@given(steps)
def test_a_catalog_on_disk_does_what_one_in_memory_does(taken: list[tuple[str, ...]]) -> None:
    with TemporaryDirectory() as home:
        path = Path(home) / "catalog.db"
        memory, disk = MemoryCatalog(), SqliteCatalog(path)
        for action in taken:
            if action == ("reopen",):
                disk.close()
                disk = SqliteCatalog(path)
            else:
                assert step(disk, *action) == step(memory, *action)
            assert disk.all() == memory.all()
        disk.close()
