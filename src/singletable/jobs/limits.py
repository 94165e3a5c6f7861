"""The limits of a job over all its workers: units a second, and units in all.

**A second.** The processes share one rate (`migrations.SharedRate`). A page is small: one request too
much of each process is little of the rate. Requests for the job's own items mostly wait for nothing, and are charged:
what follows waits for them too. A person may change the rate while workers run.

**In all.** A process takes units before it uses them: a grant is a write of the job under the condition that nobody
else took any since. A round reserves the units of its page, judged by the items before it, and a page takes at most the
rest of the grant. Without units for one item more, the job is paused. The unused grant of a process that died is lost
for the job: the cap is rather not reached than passed.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from singletable.errors import PASSING
from singletable.expressions import attr
from singletable.flow import Consumed, ForkSafeLock, Meter, Port, Race, at_rate
from singletable.foundation import Table
from singletable.jobs.items import JobItem
from singletable.jobs.states import JobEvent, JobState
from singletable.jobs.store import JobStore
from singletable.migrations import SharedRate

_FIRST_PAGE: Final = 25
"""Items of a process's first page within limits, when nothing is known of their size yet."""
_FIRST_NEEDS: Final = {"read": 1.0, "write": 4.0}
"""The units of an item then."""
_OWN: Final = {"read": 0.0, "write": 2.0}
"""The units that a round takes for the job's own items."""
_GRANT: Final = {"read": 1.0, "write": 1.0}
"""The units that a grant takes."""
_PAGE_SECONDS: Final = 0.1
"""The most that a page takes, in units of a second's share."""
_GRANTS: Final = 20
"""A grant is at most such a part of a cap."""
_FORGETS: Final = 0.9
_UPKEEP: Final = 0.5
"""The part of a process's share that upkeep is charged with at most."""
_LEAST_PART: Final = 0.1
"""The part of the rate by which a process is charged that has no share yet."""
_UPKEEP_SECONDS: Final = 10.0
"""Upkeep that was not sent for so long may come at once."""
_ROUNDS: Final = 0.96
"""The part of the rate that rounds share. The rest is for the looks of processes without a section."""
_LOOKS: Final = 1 / 200
"""The part of the read rate that one process's looks take, and as much its progress."""


class Reserved(Struct, frozen=True):
    """The page of a round, and the units reserved for it."""

    page: int
    units: Mapping[str, float] = {}


@dataclass(eq=False)
class JobLimits:
    """The limits of a job, as one process keeps them."""

    port: Port
    table: Table
    store: JobStore
    job: JobItem
    rate: SharedRate | None = field(init=False)
    _left: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_OWN, 0.0))
    """The units that were granted and are neither used nor reserved, by their kind."""
    _needs: dict[str, float] = field(default_factory=dict[str, float])
    """The units of an item, as the last rounds took them; empty before the first."""
    _own_units: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_OWN, 0.0))
    """The units of the job's own items, that no section has been charged with yet."""
    _of_one_unit: int = 0
    """The most items that a page had for one read unit, the least that a page takes."""
    _upkeep: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_OWN, 0.0))
    """The units that upkeep may be charged with now."""
    _upkeep_at: float = float("-inf")
    _keeping: float = 0.0
    """The write units of what all slots may have to keep yet."""
    _guard: ForkSafeLock = field(default_factory=ForkSafeLock)

    def __post_init__(self) -> None:
        self.rate = None
        self.note_job(self.job)

    def at_rate(self, port: Port) -> Port:
        """A port at the job's rate, also one of another database: the rate is renewed where the job is."""
        rate: Any = None if self.rate is None else _RenewedBy(self.rate, self.port)
        return at_rate(port, rate)

    def note_job(self, job: JobItem) -> None:
        """Take up the stored job: a person may have given it other rates and caps."""
        with self._guard.lock:
            self.job = job
            rates = {"read_units": job.read_rate, "write_units": job.write_rate}
            bounds: Any = {kind: None if rate is None else _ROUNDS * rate for kind, rate in rates.items()}
            if self.rate is not None:
                self.rate.change(**bounds)
            elif any(bounds.values()):
                self.rate = SharedRate(self.table, f"job {job.job}", **bounds)

    @contextmanager
    def own_requests(self, *, have_waited: bool = False, are_upkeep: bool = False) -> Generator[Meter]:
        """Requests for the job's own items, which count for its cost, its caps and its rate. Few have waited for it.
        Upkeep is sent while time passes, with work or without: beats, and looks at the job."""
        with Meter() as meter:
            try:
                yield meter
            finally:
                self._charge(meter, have_waited=have_waited, are_upkeep=are_upkeep)

    def _charge(self, meter: Meter, *, have_waited: bool, are_upkeep: bool) -> None:
        units = {"read": meter.read_units, "write": meter.write_units}
        if self.rate is not None and not have_waited:
            charged = self._of_upkeep(self.rate, units) if are_upkeep else units
            self.rate.settle("Job", Consumed(), Consumed(charged["read"], charged["write"]))
        with self._guard.lock:
            self._take_off(units)
            for kind, number in units.items():
                self._own_units[kind] += number

    def _of_upkeep(self, rate: SharedRate, units: Mapping[str, float]) -> dict[str, float]:
        """The part of upkeep that is charged: half of the process's share at most. Else a small rate would be owed for
        ever, and no round be done."""
        bounds = {"read": rate.read_units, "write": rate.write_units}
        with self._guard.lock:
            now = self.port.monotonic()
            passed, self._upkeep_at = min(_UPKEEP_SECONDS, now - self._upkeep_at), now
            for kind, bound in bounds.items():
                share = (bound or 0.0) * (rate.part or _LEAST_PART) * _UPKEEP
                self._upkeep[kind] = min(self._upkeep[kind] + share * passed, share * _UPKEEP_SECONDS)
            charged = {kind: min(number, self._upkeep[kind]) for kind, number in units.items()}
            for kind, number in charged.items():
                self._upkeep[kind] -= number
        return charged

    def own_units(self) -> Consumed:
        """The units of the job's own items, since this was asked last."""
        with self._guard.lock:
            units, self._own_units = self._own_units, dict.fromkeys(_OWN, 0.0)
        return Consumed(units["read"], units["write"])

    def pause_after(self, units: float) -> float:
        """The seconds to wait after a look that took a number of read units: one process's looks take a small part of
        the read rate. They do not wait for it."""
        bound = self.job.read_rate
        return 0.0 if bound is None else units / (bound * _LOOKS)

    def at_a_look(self, most: int) -> int:
        """The number of sections in one look: few for a small read rate."""
        bound = self.job.read_rate
        return most if bound is None else max(1, min(most, int(bound * _PAGE_SECONDS)))

    def used(self, reserved: Reserved, meter: Meter, items: int) -> None:
        """Note what a round took, in place of what it had reserved."""
        took = {"read": meter.read_units, "write": meter.write_units}
        with self._guard.lock:
            self._take_off({kind: units - reserved.units.get(kind, 0.0) for kind, units in took.items()})
            if took["read"] <= 1.0:
                self._of_one_unit = max(self._of_one_unit, items)
            elif items <= self._of_one_unit:
                self._of_one_unit = 0
            for kind, units in took.items() if items else ():
                self._needs[kind] = max(units / items, self._needs.get(kind, 0.0) * _FORGETS)

    def note_kept(self, meter: Meter, slots: int) -> None:
        """Note what it took to keep rounds: so much is left over for each slot's next ones."""
        with self._guard.lock:
            self._keeping = max(self._keeping, (meter.write_units - _OWN["write"]) * slots)

    async def reserve(self, most: int) -> Reserved | None:
        """The next round's page, and its units; None if the job is not running, or is paused now for its cap."""
        most = self._within_rate(most)
        while True:
            short, reserved = self._reserve(most)
            if reserved is not None:
                return reserved
            with self.own_requests():
                is_granted = await self._take(short, most)
            if not is_granted:
                return None

    def _within_rate(self, most: int) -> int:
        """The items of a page that takes little of a second's share."""
        caps = [cap for _, cap in _caps(self.job)]
        if not self._needs and (self.rate is not None or any(caps)):
            most = min(most, _FIRST_PAGE)
        if self.rate is None or self.rate.read_units is None:
            return most
        share = self.rate.read_units * self.rate.part * _PAGE_SECONDS
        page = int(share / max(self._needs.get("read", _FIRST_NEEDS["read"]), 1 / 128))
        return max(1, min(most, max(page, min(2 * self._of_one_unit, _FIRST_PAGE))))

    def _reserve(self, most: int) -> tuple[str, Reserved | None]:
        """The largest page that there are units for; or the kind that is short for one item."""
        with self._guard.lock:
            page, capped = most, [kind for kind, cap in _caps(self.job) if cap is not None]
            for kind in capped:
                page = min(page, int((self._left[kind] - self._own(kind)) / self._need(kind)))
                if page < 1:
                    return kind, None
            units = {kind: self._need(kind) * page + _OWN[kind] for kind in capped}
            self._take_off(units)
            return "", Reserved(page, units)

    def _need(self, kind: str) -> float:
        return max(self._needs.get(kind, _FIRST_NEEDS[kind]), 1 / 128)

    def _own(self, kind: str) -> float:
        """The units that are left over for the job's own items."""
        return _OWN[kind] + (self._keeping if kind == "write" else 0.0)

    def _take_off(self, units: Mapping[str, float]) -> None:
        for kind, number in units.items():
            self._left[kind] -= number

    async def _take(self, kind: str, most: int) -> bool:
        """Take a grant of one kind of units. False if the job does not run, or is paused now."""
        name, race = f"{kind}_granted", self._race()
        while True:
            job = await self.store.read(self.job.job)
            if job is None or job.state != JobState.RUNNING.value:
                return False
            self.note_job(job)
            cap, granted = dict(_caps(job))[kind], getattr(job, name)
            if cap is None:
                return True
            least = self._need(kind) + self._own(kind) + _GRANT[kind] - self._left[kind]
            units = min(cap - granted, max(least, min(self._need(kind) * most, cap / _GRANTS)))
            if units < least:
                why = f"{cap:g} {kind} units are used or needed, the most that it may take"
                await self.store.change(job, JobEvent.PAUSE, why=why)
                return False
            same = attr(getattr(self.store.job, name)) == granted
            if await self.store.set(job, same, granted_to=self.port.token(), **{name: granted + units}) is not None:
                with self._guard.lock:
                    self._left[kind] += units
                return True
            await race.lost()

    async def give_back(self) -> None:
        """Give back what is not used, as the worker ends. One that can't is as one that died."""
        for kind, cap in _caps(self.job):
            with self._guard.lock:
                left, self._left[kind] = self._left[kind], 0.0
            if cap is None or left <= 0:
                continue
            try:
                await self._give(kind, left)
            except PASSING:
                continue  # the cap counts it as used

    async def _give(self, kind: str, units: float) -> None:
        name, race = f"{kind}_granted", self._race()
        while (job := await self.store.read(self.job.job)) is not None:
            granted = getattr(job, name)
            same = attr(getattr(self.store.job, name)) == granted
            if await self.store.set(job, same, granted_to=self.port.token(), **{name: granted - units}) is not None:
                return
            await race.lost()

    def _race(self) -> Race:
        return Race(self.port, "job", "other workers took grants", self.table.name)


class _RenewedBy:
    """A rate that is renewed by one port, for requests by another one."""

    def __init__(self, rate: SharedRate, port: Port) -> None:
        self._rate, self._port = rate, port

    async def renew(self, port: Port) -> None:
        await self._rate.renew(self._port)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rate, name)


def _caps(job: JobItem) -> tuple[tuple[str, float | None], tuple[str, float | None]]:
    return ("read", job.read_cap), ("write", job.write_cap)
