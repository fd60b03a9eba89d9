import pytest

from penstock.errors import UnknownNameError
from penstock.experiments import EXPERIMENTS, Claim, Effort, Report, experiment

SHORT = Effort(trials=1, seconds=0.5)  # too short for any claim: only that it runs


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_a_whole_table_and_judges_its_claims(name: str) -> None:
    report = experiment(name).run(1, SHORT)
    assert report.rows
    assert all(len(row) == len(report.columns) for row in report.rows)
    assert report.claims
    assert all(claim.text in report.verdict() for claim in report.claims)


def test_the_same_seed_gives_the_same_figures() -> None:
    run = experiment("latency_memory").run
    assert run(3, SHORT) == run(3, SHORT)
    assert run(3, SHORT) != run(4, SHORT)


def test_an_experiment_that_there_is_not_is_told() -> None:
    with pytest.raises(UnknownNameError):
        experiment("nada")


def test_a_report_says_what_held_and_what_did_not() -> None:
    rows = (("a", 0.123456, 12345.6), ("bb", 1.0, 2.0))
    claims = (Claim("birds fly", True), Claim("pigs fly", False))
    report = Report("Title", "setting", ("who", "x", "y"), rows, claims)
    assert report.verdict() == "Held: birds fly. Did not hold: pigs fly."
    assert report.text().splitlines()[3:7] == [
        "who |      x |      y",
        "----+--------+-------",
        "a   | 0.1235 | 12,346",
        "bb  |      1 |      2",
    ]
    assert report.csv() == "who,x,y\na,0.123456,12345.6\nbb,1.0,2.0\n"
