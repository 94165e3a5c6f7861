"""`clean`: deletes what runs have left that were killed.

A run of this machine is known by its journal. What has the name of a run without one is listed, and deleted only where
the command names the run: it may be somebody else's that is under way. A run that is under way here is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.aws.account import Account, ServiceError
from tools.aws.asking import agrees
from tools.aws.cleaning import Cleaner, NotDeleted, run_of
from tools.aws.journal import Left, left_journals
from tools.aws.report import clean_command


def clean(
    account: Account, cleaner: Cleaner, *, runs: Sequence[str] = (), yes: bool, ask: Callable[[str], str] = input
) -> int:
    """The status of the process: 0 where nothing stays of the chosen runs. Raises NotDeleted where it can't look."""
    ours = {left.run.run: left for left in left_journals() if _is_here(left, account)}
    chosen = sorted({*ours, *runs})
    try:
        there = cleaner.find()
    except (ServiceError, OSError) as error:
        raise NotDeleted(str(error)) from error
    for made in there:
        print(f"{made.kind:<7} {made.name}{_whose(run_of(made), chosen)}")
    if not chosen:
        print(f"No run of this machine has left anything at {account.place}.")
        return 0
    count = sum(run_of(made) in chosen for made in there)
    if not yes and not agrees(ask, f"Delete {count} of {', '.join(chosen)}?", "Nothing was deleted."):
        return 1
    return max(_clean_one(cleaner, run, ours.get(run)) for run in chosen)


def _is_here(left: Left, account: Account) -> bool:
    """Whether a journal is of a run that has ended, at this place; says what it is otherwise."""
    run = left.run
    if left.is_under_way:
        print(f"{run.run} is under way on this machine: it deletes what it makes.")
    elif (run.endpoint, run.region) != (account.endpoint, account.region):
        print(f"{run.run} left something elsewhere: {clean_command(run.endpoint, run.region)}")
    else:
        return True
    return False


def _whose(run: str, chosen: Sequence[str]) -> str:
    return "" if run in chosen else f"   of another run: clean --run {run}"


def _clean_one(cleaner: Cleaner, run: str, left: Left | None) -> int:
    try:
        print(f"{run}: {cleaner.delete_run(run, left.made if left else frozenset())} deleted")
    except (NotDeleted, OSError) as error:
        print(f"{run}: NOT deleted: {error}")
        return 1
    if left is not None:
        left.path.unlink()
    return 0
