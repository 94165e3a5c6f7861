"""The command: run, count, clean, scan."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from singletable.errors import Mistake
from tools.aws.cassettes import FOLDER
from tools.aws.cleaning import Cleaner, NotDeleted
from tools.aws.connecting import connect_account
from tools.aws.counts import NotCounted, write_counts
from tools.aws.leftovers import clean
from tools.aws.plan import Wanted
from tools.aws.run import INTERRUPTED, NOT_STARTED, NotStarted, run
from tools.aws.scanner import secrets_in_folder

_UNDONE = {
    "run": "Nothing was made.",
    "clean": "What was not said to be deleted is still there.",
    "count": "What was not said to be counted is as it was.",
    "scan": "Nothing was looked through.",
}
"""What a command has not done that ends before its time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the status of the process: 0 where all was well."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    given = _parser().parse_args(arguments)
    try:
        return _command(given)
    except KeyboardInterrupt:
        print(f"\nInterrupted. {_UNDONE[given.command]}")
        return INTERRUPTED
    except (Mistake, NotCounted, NotDeleted, NotStarted) as error:
        print(f"{error}\n{_UNDONE[given.command]}")
        return NOT_STARTED


def _command(given: argparse.Namespace) -> int:
    if given.command == "count":
        return write_counts(given.only, all_changed=given.changed)
    if given.command == "scan":
        return scan(given.folder)
    account = connect_account(given.endpoint, given.region, os.environ)
    if given.command == "clean":
        return clean(account, Cleaner(account, print), runs=given.run, yes=given.yes)
    return run(account, Wanted(tuple(given.only), given.cap, given.cap_money, given.yes, given.record))


def scan(folder: Path) -> int:
    """Print what looks like a secret in the cassettes."""
    if not any(folder.glob("*")):
        print(f"There is nothing in {folder}: name the folder of the cassettes.")
        return NOT_STARTED
    found = [*secrets_in_folder(folder)]
    print("\n".join(found) or f"no secret in {folder}")
    return int(bool(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.aws", description="The engine suites on an AWS account.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="say what it costs, ask, run the suites, delete all that was made")
    _place(running)
    running.add_argument("--cap", type=float, metavar="UNITS", help="stop there; half as much again as predicted")
    running.add_argument("--cap-money", type=float, metavar="DOLLARS", help="stop there")
    running.add_argument("--record", type=Path, metavar="FOLDER", help="write cassettes of the tests that passed")
    running.add_argument("--only", nargs="+", default=[], metavar="PATH", help="these test files or folders alone")
    cleaning = commands.add_parser("clean", help="delete what a run that was killed has left")
    _place(cleaning)
    cleaning.add_argument("--run", action="append", default=[], help="this run, of another machine or without journal")
    counting = commands.add_parser("count", help="run the suites on the embedded engine, and write down what they use")
    counting.add_argument("--only", nargs="+", default=[], metavar="PATH", help="these test files or folders alone")
    counting.add_argument("--changed", action="store_true", help="of these, what changed since it was counted")
    scanning = commands.add_parser("scan", help="look for secrets in the cassettes")
    scanning.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    return parser


def _place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--endpoint", default="", metavar="URL", help="an emulator, instead of AWS")
    parser.add_argument("--region", help="the environment's, if none is given")
    parser.add_argument("--yes", action="store_true", help="do not ask")


if __name__ == "__main__":
    sys.exit(main())
