"""`clean`: deletes what runs have left that were killed.

A run of this machine is known by its journal. What has the name of a run without one is listed, and deleted only where
the command names the run: it may be somebody else's that is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.aws.account import Account
from tools.aws.cleaning import Cleaner, NotDeleted, run_of
from tools.aws.journal import Made, left_journals


def clean(
    account: Account, cleaner: Cleaner, *, runs: Sequence[str] = (), yes: bool, ask: Callable[[str], str] = input
) -> int:
    """The status of the process: 0 where nothing stays of the chosen runs."""
    ours = {
        said.run: (path, made)
        for path, said, made in left_journals()
        if (said.endpoint, said.region) == (account.endpoint, account.region)
    }
    there = cleaner.find()
    chosen = sorted({*ours, *runs})
    for made in there:
        known = "" if run_of(made) in chosen else f"   of another run: clean --run {run_of(made)}"
        print(f"{made.kind:<7} {made.name}{known}")
    if not chosen:
        print("No run of this machine has left anything.")
        return 0
    count = sum(run_of(made) in chosen for made in there)
    if not yes and ask(f"Delete {count} of {', '.join(chosen)}? [y/N] ").strip().lower() not in ("y", "yes"):
        return 1
    for run in chosen:
        path, listed = ours.get(run, (None, frozenset[Made]()))
        try:
            print(f"{run}: {cleaner.delete_run(run, listed)} deleted")
        except NotDeleted as error:
            print(f"{run}: {error}")
            return 1
        if path is not None:
            path.unlink()
    return 0
