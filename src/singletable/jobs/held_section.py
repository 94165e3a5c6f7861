"""A section that a slot of a worker has, and its rounds that are not kept yet."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from singletable.flow import Consumed, Meter, Tenure
from singletable.jobs.held_port import SectionLost
from singletable.jobs.items import JobPart
from singletable.jobs.work import Round


@dataclass(eq=False, kw_only=True)
class HeldSection(Tenure):
    """A section that a slot of this process has."""

    part: JobPart
    kept_at: float
    """When a round of it was kept last, or it was taken."""
    unkept: Round | None = None
    """The rounds that are not kept yet, as one."""
    read_units: float = 0.0
    """Units that these rounds took."""
    write_units: float = 0.0
    error: Exception | None = None
    """The error at which its work ended."""

    @contextmanager
    def noting_errors(self) -> Generator[None]:
        """Note an error of the section's own work."""
        try:
            yield
        except SectionLost:
            raise
        except Exception as error:
            self.error = error
            raise

    @property
    def position(self) -> Any:
        """Where the next round goes on."""
        if self.unkept is not None:
            return self.unkept.position
        return None if self.part.position is None else msgspec.json.decode(self.part.position)

    def add_units(self, cost: Consumed | Meter) -> None:
        self.read_units += cost.read_units
        self.write_units += cost.write_units

    def add(self, done: Round, cost: Meter) -> None:
        before, self.unkept = self.unkept, done
        self.add_units(cost)
        if before is not None:
            counts = {n: before.counts.get(n, 0) + done.counts.get(n, 0) for n in {*before.counts, *done.counts}}
            seen, lines = before.seen + done.seen, [*before.lines, *done.lines]
            self.unkept = Round(done.position, done.is_over, seen, counts, lines)

    def keep(self, part: JobPart, now: float) -> None:
        """Note what was kept."""
        self.part, self.kept_at, self.unkept = part, now, None
        self.read_units = self.write_units = 0.0
