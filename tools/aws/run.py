"""A run: says what it costs, asks, runs the tests, deletes all that was made, says what was used."""

from __future__ import annotations

import os
import secrets
import signal
import threading  # noqa: TID251
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from tools.aws.account import Account, ServiceError
from tools.aws.asking import agrees
from tools.aws.cassettes import Recorder
from tools.aws.child import run_tests
from tools.aws.cleaning import Cleaner, NotDeleted
from tools.aws.counts import NotCounted, count_on
from tools.aws.gateway import Gateway, Server
from tools.aws.journal import Journal, Run
from tools.aws.names import Names
from tools.aws.plan import Plan, Wanted, make_plan
from tools.aws.replaying import keep_what_replays
from tools.aws.report import announcement, clean_command, differences, summary
from tools.aws.suites import files_of_suites

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PASSED, FAILED, CAPPED, NOT_STARTED, LEFT, REFUSED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
"""The statuses of the process."""


class NotStarted(Exception):
    """Nothing was made: the account refuses what a run needs, does not answer, or nothing could be predicted."""


def run(account: Account, wanted: Wanted, *, ask: Callable[[str], str] = input) -> int:
    """The status of the process. Raises NotStarted."""
    files = files_of_suites(wanted.only)
    if not files:
        raise NotStarted(f"No test file of the suites is in {', '.join(wanted.only)}.")
    number, plan = _prepare(account, files, wanted)
    run_id = secrets.token_hex(5)
    print(announcement(account, number, run_id, plan))
    if not wanted.yes and not agrees(ask, "Go on?", "Nothing was made."):
        return NOT_STARTED
    return _run(account, number, run_id, plan, wanted)


def _prepare(account: Account, files: list[str], wanted: Wanted) -> tuple[str, Plan]:
    """The account's number and the plan. The account is asked first: to count may take minutes."""
    try:
        number = account.identity()
        Cleaner(account).rehearse(number)
        return number, make_plan(account, files, wanted, lambda like, files: count_on(like, files, quiet=True))
    except OSError as error:
        raise NotStarted(f"{error}. Is --endpoint or the region right, and the service up?") from error
    except (ServiceError, NotCounted) as error:
        raise NotStarted(str(error)) from error


def _run(account: Account, number: str, run_id: str, plan: Plan, wanted: Wanted) -> int:
    stop = threading.Event()
    with stopped_by_signals(stop):
        journal = Journal(Run(run_id, account.endpoint, account.region))
        names = Names(run_id, lambda: server.url)
        gateway = Gateway(account, names, note=journal.note, forget=journal.forget, is_over=plan.is_over)
        began = time.monotonic()
        with Server(gateway) as server:
            keys = account.credentials()
            recorder = Recorder([keys.access_key, keys.secret_key, keys.session_token or ""], number, server.url)
            if wanted.record is not None:
                gateway.recording = recorder
            try:
                status = run_tests(f"{plan.like}={server.url}", server.url, plan.files, _either(stop, gateway))
            finally:
                ended_early = gateway.stopped
                gateway.stop("the run has ended")
                left = delete_all(account, run_id, journal)
        print(summary(plan, gateway.total, time.monotonic() - began))
        if ended_early:
            print(f"Stopped: {ended_early}")
        elif not stop.is_set():
            print(differences(plan, gateway.spent))
            if wanted.record is not None:
                keep_what_replays(recorder, wanted.record, gateway.passed, account, gateway.seed, stop)
        if left:
            return LEFT
        if stop.is_set():
            return INTERRUPTED
        if ended_early:
            return REFUSED if gateway.refused else CAPPED
        return PASSED if status == 0 else FAILED


def delete_all(account: Account, run_id: str, journal: Journal) -> str:
    """Delete what a run has made, and its journal; what stays, if something does, is said and returned."""
    try:
        count = Cleaner(account).delete_run(run_id, journal.made)
    except (NotDeleted, OSError) as error:
        journal.close(all_gone=False)
        print(f"NOT deleted: {error}\nWhen that is mended: {clean_command(account.endpoint, account.region)}")
        return str(error)
    journal.close(all_gone=True)
    print(f"Deleted what was left: {count}. Nothing of this run is there any more.")
    return ""


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Generator[None]:
    """SIGINT, SIGTERM and SIGHUP set `stop`, as often as they come: nothing that is being deleted is interrupted.

    After one of them, later ones are ignored until the process ends: what is left to do is to say how it went.
    """

    def note(number: int, frame: object) -> None:
        os.write(1, b"\nStopping; what was made is being deleted.\n")  # a print may be under way
        stop.set()

    before = {number: signal.signal(number, note) for number in _STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if stop.is_set() else handler)


def _either(stop: threading.Event, gateway: Gateway) -> threading.Event:
    """Set when a signal came or the gateway lets nothing out any more."""

    class Either(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return stop.wait(timeout) or bool(gateway.stopped)

    return Either()
