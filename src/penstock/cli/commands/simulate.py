"""`penstock simulate NAME`, or `--from FILE`: on a virtual clock, without Spark."""

import argparse
from pathlib import Path

from penstock.cli.commands.command import Command
from penstock.cli.screen import Screen
from penstock.errors import BadOptionError
from penstock.experiments import EXPERIMENTS, Effort, Report, experiment
from penstock.experiments.drawing import draw
from penstock.schedule import Choice
from penstock.schedule.choice import choice_of
from penstock.sim.what_if import Question, what_if
from penstock.sim.workloads.measured_workload import read_measured
from penstock.sql import SetDecider, parse

ABOUT = """Repeat an experiment on a virtual clock, and say which claims of its document
hold; or say what a system that was measured would do with another strategy, other rates or more
slots: EXPLAIN SCHEDULE AS JSON INTO 'file' writes what it was measured to do."""
LIST = "list"
USUAL = ("round_robin", "pcs", "segment", "chain", "basic", "optprofit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; an experiment has no home."""
    parser.set_defaults(home=None)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help=f"an experiment; {LIST} tells which there are"
    )
    parser.add_argument("--from", dest="source", metavar="FILE", help="a system that was measured")
    parser.add_argument(
        "--strategy",
        action="append",
        metavar="NAME",
        help="with --from, as in SET STRATEGY; may be given more than once (default: several)",
    )
    parser.add_argument(
        "--rate-factor", type=above_zero, default=1.0, metavar="X", help="with --from (default: 1)"
    )
    parser.add_argument(
        "--slots", type=whole, metavar="N", help="with --from (default: as it was measured)"
    )
    parser.add_argument(
        "--seconds", type=above_zero, default=60.0, metavar="X", help="with --from (default: 60)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of what is drawn (default: %(default)s)"
    )
    parser.add_argument(
        "--trials",
        type=whole,
        default=Effort().trials,
        metavar="N",
        help="workloads that each figure is the mean of (default: %(default)s)",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="also write NAME.txt, NAME.csv and NAME.png there"
    )


def run(args: argparse.Namespace) -> int:
    """Run the experiment and print its report."""
    screen = Screen.standard()
    if args.name == LIST:
        lines = [f"{name:16} {each.about}" for name, each in EXPERIMENTS.items()]
        screen.rows("".join(f"{line}\n" for line in lines).encode())
        return 0
    if (args.name is None) == (args.source is None):
        raise BadOptionError(
            "an experiment or --from FILE is needed, and not both",
            hint=f"penstock simulate {LIST} tells which experiments there are",
        )
    name = args.name or Path(args.source).stem
    if args.name is not None:
        experiment(args.name)
    out = None if args.out is None else directory(Path(args.out))
    screen.live(f"simulating {name} …")
    report = _report(args)
    screen.clear()
    text = report.text()
    screen.rows(text.encode())
    if out is not None:
        (out / f"{name}.txt").write_text(text, encoding="utf-8")
        (out / f"{name}.csv").write_text(report.csv(), encoding="utf-8")
        _picture(report, out / f"{name}.png", screen)
    return 0


def _picture(report: Report, path: Path, screen: Screen) -> None:
    """Draw the table; without matplotlib the rest is worth having all the same."""
    try:
        draw(report, path)
    except BadOptionError as error:
        screen.say(f"no picture: {error.message} ({error.hint})")


def _report(args: argparse.Namespace) -> Report:
    if args.name is not None:
        return experiment(args.name).run(args.seed, Effort(trials=args.trials))
    strategies = [choice(each) for each in args.strategy or USUAL]
    asked = Question(strategies, args.rate_factor, args.slots, args.seconds, args.seed)
    return what_if(read_measured(Path(args.source)), asked)


def choice(text: str) -> Choice:
    """Return a strategy as SET STRATEGY takes it."""
    match parse(f"SET STRATEGY {text}"):
        case [SetDecider(name=name, options=options)]:
            return choice_of(name, options)
        case _:
            raise BadOptionError(f"{text} is no strategy")


def directory(path: Path) -> Path:
    """Return a directory that can be written to, made where it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadOptionError(f"{path} cannot be made: {error.strerror}") from None
    return path


def whole(text: str) -> int:
    """Return a whole number, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")
    return int(text)


def above_zero(text: str) -> float:
    """Return a finite number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")
    return number


COMMAND = Command(ABOUT, add_arguments, run)
