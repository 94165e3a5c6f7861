"""The service's time: it follows the Date of answers, whatever the machine's clock says, and costs nothing to read."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate

import pytest

from singletable.wire.service_clock import LOOK_SECONDS, ServiceClock

START = 1_790_000_000.25
WRONG = [-86_400.0, -3600.0, -10.0, 10.0, 3600.0, 86_400.0]


@dataclass
class Machine:
    """The true time, and a machine's clocks."""

    true: float = START
    off: float = 0.0

    def wall(self) -> float:
        return self.true + self.off

    def monotonic(self) -> float:
        return self.true - START + 17.0

    def date(self) -> Mapping[bytes, bytes]:
        return {b"date": formatdate(self.true, usegmt=True).encode()}


def looked(machine: Machine, took: float = 0.01) -> ServiceClock:
    clock = ServiceClock(machine.wall, machine.monotonic)
    ask(clock, machine, took)
    return clock


def ask(clock: ServiceClock, machine: Machine, took: float = 0.01) -> float:
    asked_at = clock.now()
    machine.true += took
    return clock.look(machine.date(), asked_at)


@pytest.mark.parametrize("off", WRONG)
def test_the_first_answer_corrects_a_wrong_clock(off: float) -> None:
    machine = Machine(off=off)
    clock = ServiceClock(machine.wall, machine.monotonic)
    assert (clock.is_known, clock.now()) == (False, START + off)
    assert ask(clock, machine) == pytest.approx(off, abs=1.0)
    assert clock.is_known
    assert clock.now() == pytest.approx(machine.true, abs=1.0)


@pytest.mark.parametrize("off", [0.0, -0.9, 0.9])
def test_a_clock_that_fits_the_date_is_taken_with_its_fractions(off: float) -> None:
    machine = Machine(off=off)
    clock = looked(machine)
    machine.true += 3.125
    assert clock.now() == pytest.approx(machine.true + off, abs=1e-6)


@pytest.mark.parametrize("step", WRONG)
def test_a_step_of_the_machines_clock_is_not_seen(step: float) -> None:
    machine = Machine()
    clock = looked(machine)
    machine.off = step
    assert clock.now() == pytest.approx(machine.true, abs=1e-6)
    machine.true += 60.0
    assert ask(clock, machine) == pytest.approx(step, abs=1.0)
    assert clock.now() == pytest.approx(machine.true, abs=1e-6)


def test_a_slow_answer_proves_nothing_against_the_clock() -> None:
    machine = Machine()
    clock = ServiceClock(machine.wall, machine.monotonic)
    date, asked_at = machine.date(), clock.now()
    machine.true += 8.0
    assert clock.look(date, asked_at) == 0.0
    assert clock.now() == pytest.approx(machine.true, abs=1e-6)


@pytest.mark.parametrize("took", [1.5, 5.0])
def test_after_a_slow_answer_the_next_one_decides(took: float) -> None:
    """A Date fits every clock that is ahead by as much as its answer took, as while a connection was made."""
    machine = Machine(off=took + 1.9)
    clock = looked(machine, took)
    assert clock.now() >= clock.look_at
    ask(clock, machine)
    assert clock.now() == pytest.approx(machine.true, abs=1.0)
    assert clock.look_at == clock.now() + LOOK_SECONDS


def test_a_frozen_machine_finds_the_time_with_its_next_look() -> None:
    """Its clock of intervals stood still, as in a virtual machine that was paused; the wall clock was set since."""
    machine = Machine()
    clock = ServiceClock(machine.wall, lambda: 0.0)
    asked_at = clock.now()
    assert clock.look(machine.date(), asked_at) == 0.0
    machine.true += 7200.0
    clock.look(machine.date(), clock.now())
    assert clock.now() == pytest.approx(machine.true, abs=1e-6)


def test_it_is_told_once() -> None:
    machine = Machine(off=3600.0)
    clock = looked(machine)
    machine.true += 60.0
    assert ask(clock, machine) == 0.0
    machine.off = 0.0
    machine.true += 60.0
    assert ask(clock, machine) == 0.0  # right again: nobody has to act
    machine.off = -3600.0
    machine.true += 60.0
    assert ask(clock, machine) == pytest.approx(-3600.0, abs=1.0)


@pytest.mark.parametrize("headers", [{}, {b"date": b""}, {b"date": b"yesterday"}, {b"date": b"\xff"}])
def test_without_a_date_the_machines_clock_decides(headers: Mapping[bytes, bytes]) -> None:
    machine = Machine(off=3600.0)
    clock = ServiceClock(machine.wall, machine.monotonic)
    assert clock.look(headers, clock.now()) == 0.0
    assert (clock.is_known, clock.now()) == (True, machine.wall())


@pytest.mark.parametrize("headers", [{}, {b"date": b""}, {b"date": b"yesterday"}, {b"date": b"\xff"}])
def test_without_a_date_a_known_time_stays(headers: Mapping[bytes, bytes]) -> None:
    machine = Machine(off=3600.0)
    clock = looked(machine)
    machine.true += 11.0
    known = clock.now()
    assert clock.look(headers, known) == 0.0
    assert (clock.is_known, clock.now(), clock.look_at) == (True, known, known + LOOK_SECONDS)


@pytest.mark.parametrize(("off", "took"), [(8.0, 9.0), (1800.0, 3600.0), (-1.5, 0.01), (2.5, 1.0)])
def test_a_known_time_is_not_left_for_a_wall_clock_that_is_wrong(off: float, took: float) -> None:
    """Nor where a request took so long that its Date fits both."""
    machine = Machine(off=off)
    clock = looked(machine)
    machine.true += 11.0
    ask(clock, machine, took)
    assert clock.now() == pytest.approx(machine.true, abs=1.0)


def test_a_wall_clock_that_is_right_again_gives_the_fractions() -> None:
    machine = Machine(off=3600.0)
    clock = looked(machine)
    machine.off, machine.true = 0.0, machine.true + 11.0
    ask(clock, machine)
    assert clock.now() == pytest.approx(machine.true, abs=1e-6)


@pytest.mark.parametrize("off", [-400.0, 400.0, 86_400.0])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_date_far_from_an_accepted_signature_is_not_the_services(off: float, is_known: bool) -> None:
    """As of a proxy that dates the answers it passes on."""
    machine = Machine(off=0.5)
    clock = ServiceClock(machine.wall, machine.monotonic, checks_signatures=True)
    if is_known:
        ask(clock, machine)
    machine.true += 11.0
    asked_at = clock.now()
    clock.look({b"date": formatdate(machine.true + off, usegmt=True).encode()}, asked_at)
    assert clock.now() == pytest.approx(machine.true, abs=1.0)


@pytest.mark.parametrize("off", [-280.0, 280.0])
def test_an_error_that_a_service_accepts_in_signatures_is_corrected(off: float) -> None:
    machine = Machine(off=off)
    clock = ServiceClock(machine.wall, machine.monotonic, checks_signatures=True)
    ask(clock, machine)
    assert clock.now() == pytest.approx(machine.true, abs=1.0)


def test_an_answer_is_looked_at_every_ten_seconds() -> None:
    machine = Machine()
    clock = ServiceClock(machine.wall, machine.monotonic)
    assert clock.look_at <= clock.now()
    ask(clock, machine)
    assert clock.look_at - clock.now() == pytest.approx(LOOK_SECONDS)


def test_reading_it_takes_no_python_call() -> None:
    clock, calls = ServiceClock(time.time, time.monotonic), list[str]()
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    clock.now()
    sys.setprofile(None)
    assert calls == []
