"""`penstock simulate NAME`: an experiment on a virtual clock, without Spark."""

import argparse
from pathlib import Path

from penstock.cli.commands.command import Command
from penstock.cli.screen import Screen
from penstock.errors import BadOptionError
from penstock.sim.experiments import EXPERIMENTS, Effort, experiment

ABOUT = (
    "Repeat a scheduling experiment on a virtual clock, and say which claims of its document hold."
)
LIST = "list"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; an experiment has no home."""
    parser.set_defaults(home=None)
    parser.add_argument("name", metavar="NAME", help=f"an experiment; {LIST} tells which there are")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of what is drawn (default: %(default)s)"
    )
    parser.add_argument(
        "--trials",
        type=trials,
        default=Effort().trials,
        metavar="N",
        help="workloads that each figure is the mean of (default: %(default)s)",
    )
    parser.add_argument("--out", metavar="DIR", help="also write NAME.txt and NAME.csv there")


def run(args: argparse.Namespace) -> int:
    """Run the experiment and print its report."""
    screen = Screen.standard()
    if args.name == LIST:
        lines = [f"{name:16} {each.about}" for name, each in EXPERIMENTS.items()]
        screen.rows("".join(f"{line}\n" for line in lines).encode())
        return 0
    chosen = experiment(args.name)
    out = None if args.out is None else directory(Path(args.out))
    screen.live(f"simulating {args.name} …")
    report = chosen.run(args.seed, Effort(trials=args.trials))
    screen.clear()
    text = report.text()
    screen.rows(text.encode())
    if out is not None:
        (out / f"{args.name}.txt").write_text(text, encoding="utf-8")
        (out / f"{args.name}.csv").write_text(report.csv(), encoding="utf-8")
    return 0


def directory(path: Path) -> Path:
    """Return a directory that can be written to, made where it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadOptionError(f"{path} cannot be made: {error.strerror}") from None
    return path


def trials(text: str) -> int:
    """Return a number of workloads, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")
    return int(text)


COMMAND = Command(ABOUT, add_arguments, run)
