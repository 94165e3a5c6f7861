"""A function of AWS Lambda that works on jobs: on the job of its event, else on all running jobs.

It works as any worker does, until its time is nearly over, and leaves its sections to others then. So a schedule that
calls it every few minutes carries a job of any length, and calls that overlap share it.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Final, Protocol

from singletable.errors import InvalidRequest, NotConfigured, SingletableError
from singletable.events import WorkerPaused
from singletable.flow import Port, Stop
from singletable.jobs.flows import run
from singletable.jobs.refusals import JobRefused
from singletable.jobs.states import JobState
from singletable.jobs.store import JobStore
from singletable.jobs.work import JobPlace
from singletable.jobs.worker_options import WorkerOptions

MARGIN_SECONDS: Final = 30.0
"""The time that is left for the rounds under way when the function begins no more."""
IDLE_LEASES: Final = 2.0
"""Leases for which the function waits for a section: long enough to see that another worker is dead."""

JobStates = dict[str, str]
"""The state of each job that the function worked on, by its id; `refused` for one that this function can't do."""


class JobHandler(Protocol):
    """A handler that returns the states of its jobs."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> JobStates: ...


class AsyncJobHandler(Protocol):
    """A handler whose answer is awaited."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> Coroutine[Any, Any, JobStates]: ...


def function_options(at_once: int, lease_seconds: float) -> WorkerOptions:
    """The options of a function's worker: it ends if a job is paused, or others have all its sections."""
    return WorkerOptions(at_once, lease_seconds, idle_seconds=IDLE_LEASES * lease_seconds)


async def handle_event(
    port: Port, place: JobPlace, event: Mapping[str, Any], context: Any, options: WorkerOptions
) -> JobStates:
    """Work on the job that the event names as `job`, or on all running jobs, the oldest first.

    JobRefused, InvalidRequest, NotConfigured for a named one that this program can't do. A running one that
    this program can't do is left to other programs; an event gives the reason. An error of a running one stops no
    other: the first is raised when all have had their turn.
    """
    stop, named, raised = _stop(context), event.get("job"), list[Exception]()
    if named is not None:
        return {named: (await run(port, place, named, options, stop=stop, signals=False)).state}
    states = JobStates()
    for job in await _running(port, place):
        if stop():
            break
        try:
            states[job] = (await run(port, place, job, options, stop=stop, signals=False)).state
        except (JobRefused, InvalidRequest, NotConfigured) as error:
            states[job] = "refused"
            port.events.emit(_left(job, error))
        except Exception as error:
            raised.append(error)
    if raised:
        raise raised[0]
    return states


async def _running(port: Port, place: JobPlace) -> list[str]:
    """The jobs that run, the oldest first. A query."""
    store = JobStore(port, place.table)
    await store.ready()
    running = [job for job in await store.all() if job.state == JobState.RUNNING.value]
    return [job.job for job in sorted(running, key=lambda job: job.begun_at)]


def _left(job: str, error: SingletableError) -> WorkerPaused:
    why, then = f"{type(error).__name__}: {error}", "it is left to other programs"
    return WorkerPaused(worker=f"job {job}", outcome=error.code, why=why, then=then, seconds=0.0)


def _stop(context: Any) -> Stop:
    """Whether the function's time is nearly over."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    if left is None:
        return lambda: False
    return lambda: bool(left() < MARGIN_SECONDS * 1000)
