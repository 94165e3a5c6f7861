"""A run: says what it costs, asks, runs the tests, deletes all that was made, says what was used."""

from __future__ import annotations

import secrets
import signal
import threading  # noqa: TID251
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.aws.account import Account
from tools.aws.cassettes import Recorder
from tools.aws.child import run_tests
from tools.aws.cleaning import Cleaner, NotDeleted
from tools.aws.counting import Count, Prices, prices_of, total
from tools.aws.counts import count_on
from tools.aws.gateway import Gateway, Server
from tools.aws.journal import Journal, Run
from tools.aws.names import FAMILY, TAG, Names
from tools.aws.prediction import NEAR, Like, Measure, is_like, is_near, predict
from tools.aws.replaying import keep_what_replays
from tools.aws.suites import files_of_suites

_HEADROOM = 1.5
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PASSED, FAILED, CAPPED, NOT_STARTED, LEFT, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""The statuses of the process."""


@dataclass(frozen=True)
class Wanted:
    """What the command line says."""

    only: tuple[str, ...] = ()
    cap: float | None = None
    cap_money: float | None = None
    yes: bool = False
    record: Path | None = None


@dataclass(frozen=True)
class Plan:
    """What a run will use, and where it stops."""

    like: Like
    files: list[str]
    by_file: Mapping[str, Count]
    """What each test file will use."""
    prices: Prices
    cap: float
    cap_money: float

    @property
    def predicted(self) -> Count:
        return total(self.by_file.values())

    def is_over(self, spent: Count) -> str:
        """Why nothing more may be sent; empty while it may."""
        if spent.units >= self.cap:
            return f"the cap of {self.cap:,.0f} units is reached"
        if self.prices.money(spent) >= self.cap_money:
            return f"the cap of ${self.cap_money:,.4f} is reached"
        return ""


def make_plan(account: Account, wanted: Wanted, measure: Measure) -> Plan:
    files = files_of_suites(wanted.only)
    like = is_like(account.endpoint)
    by_file = predict(like, files, measure)
    predicted = total(by_file.values())
    prices = prices_of(account.region)
    cap = predicted.units * _HEADROOM if wanted.cap is None else wanted.cap
    cap_money = prices.money(predicted) * _HEADROOM if wanted.cap_money is None else wanted.cap_money
    return Plan(like, files, by_file, prices, cap, cap_money)


def run(account: Account, wanted: Wanted, *, ask: Callable[[str], str] = input) -> int:
    """The status of the process."""
    plan = make_plan(account, wanted, lambda like, files: count_on(like, files, quiet=True))
    if not plan.files:
        print(f"no test file of the suites is in {', '.join(wanted.only)}")
        return NOT_STARTED
    number, run_id = account.identity(), secrets.token_hex(5)
    print(announcement(account, number, run_id, plan))
    if not wanted.yes and ask("Go on? [y/N] ").strip().lower() not in ("y", "yes"):
        print("Nothing was made.")
        return NOT_STARTED
    return _run(account, number, run_id, plan, wanted)


def announcement(account: Account, number: str, run_id: str, plan: Plan) -> str:
    """What is said before anything is made."""
    predicted, prices = plan.predicted, plan.prices
    note = f"\n             {prices.note}" if prices.note else ""
    return (
        f"account      {number} in {account.region}, {account.endpoint or 'AWS'}\n"
        f"makes        {predicted.tables:,} tables, {predicted.queues:,} queues, {predicted.buckets:,} buckets,"
        f" one after the other; each is named {FAMILY}{run_id}-..., tagged {TAG}={run_id}, and deleted\n"
        f"runs         {len(plan.files)} test files, {predicted.requests:,} requests\n"
        f"reads        {predicted.read_units:,.1f} units\n"
        f"writes       {predicted.write_units:,.1f} units, and {predicted.unreported_units:,.0f} of refused writes\n"
        f"streams      {predicted.stream_reads:,} reads; SQS: {predicted.queue_requests:,} requests;"
        f" S3: {predicted.object_writes:,} writes, {predicted.object_reads:,} reads\n"
        f"money        ${prices.money(predicted):,.4f} at the prices published by {prices.as_of}, on demand:"
        f" an estimate{note}\n"
        f"stops at     {plan.cap:,.0f} units or ${plan.cap_money:,.4f}"
    )


def _run(account: Account, number: str, run_id: str, plan: Plan, wanted: Wanted) -> int:
    stop = threading.Event()
    with stopped_by_signals(stop):
        journal = Journal(Run(run_id, account.endpoint, account.region))
        names = Names(run_id, lambda: server.url)
        gateway = Gateway(account, names, note=journal.note, is_over=plan.is_over)
        began = time.monotonic()
        with Server(gateway) as server:
            keys = account.credentials()
            recorder = Recorder([keys.access_key, keys.secret_key, keys.session_token or ""], number, server.url)
            if wanted.record is not None:
                gateway.recording = recorder
            try:
                status = run_tests(f"{plan.like}={server.url}", server.url, plan.files, _either(stop, gateway))
            finally:
                gateway.stop("the run has ended")
                left = delete_all(account, run_id, journal)
        print(summary(plan, gateway.total, time.monotonic() - began))
        if status == 0:
            print(differences(plan, gateway.spent))
        if wanted.record is not None and not stop.is_set():
            keep_what_replays(recorder, wanted.record, gateway.passed, account, gateway.seed)
        if left:
            return LEFT
        if stop.is_set():
            return INTERRUPTED
        if why := plan.is_over(gateway.total):
            print(f"Stopped: {why}.")
            return CAPPED
        return PASSED if status == 0 else FAILED


def delete_all(account: Account, run_id: str, journal: Journal) -> str:
    """Delete what a run has made, and its journal; what stays, if something does, is said and returned."""
    try:
        count = Cleaner(account).delete_run(run_id, journal.made)
    except (NotDeleted, OSError) as error:
        print(f"NOT deleted: {error}. Again: python -m tools.aws clean ({journal.path})")
        return str(error)
    journal.close()
    print(f"Deleted what was left: {count}. Nothing of this run is there any more.")
    return ""


def summary(plan: Plan, spent: Count, seconds: float) -> str:
    """What was used, beside what was predicted."""
    lines = [f"{'':<12} {'predicted':>12} {'counted':>12}   after {seconds:,.0f} s"]
    for name, expected, counted in (
        ("requests", plan.predicted.requests, spent.requests),
        ("read units", plan.predicted.read_units, spent.read_units),
        ("write units", plan.predicted.write_units, spent.write_units),
        ("units", plan.predicted.units, spent.units),
    ):
        lines.append(f"{name:<12} {expected:>12,.1f} {counted:>12,.1f}   {_difference(expected, counted)}")
    money = plan.prices.money
    lines.append(f"{'money':<12} {money(plan.predicted):>12,.4f} {money(spent):>12,.4f}   dollars")
    return "\n".join(lines)


def differences(plan: Plan, spent: Mapping[str, Count]) -> str:
    """Whether the prediction was near, and the test files that used otherwise, the furthest off first."""
    off = {file: spent.get(file, Count()) for file in plan.files}
    off = {file: count for file, count in off.items() if not is_near(plan.by_file[file], count)}
    if is_near(plan.predicted, total(spent.values())):
        return f"predicted within {NEAR:.0%}"
    farthest = sorted(off, key=lambda file: -abs(off[file].units - plan.by_file[file].units))
    lines = [
        f"{file}: {plan.by_file[file].units:,.1f} units predicted, {off[file].units:,.1f} used" for file in farthest
    ]
    return "\n".join([f"NOT predicted within {NEAR:.0%}: python -m tools.aws count", *lines])


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Generator[None]:
    """SIGINT, SIGTERM and SIGHUP set `stop`, as often as they come: nothing that is being deleted is interrupted.

    After one of them, later ones are ignored until the process ends: what is left to do is to say how it went.
    """

    def note(number: int, frame: object) -> None:
        print("\nStopping; what was made is being deleted.", flush=True)
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


def _difference(expected: float, counted: float) -> str:
    return f"{(expected - counted) / counted:+.2%}" if counted else ""
