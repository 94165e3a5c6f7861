"""Events: frozen values for listeners, of the requests that the library sends and of what its workers do.

    def count(event: Event) -> None:
        if isinstance(event, RequestEnded):
            counts.update(event.patterns)

    db = connect("local", listeners=[count])

`Event` says how the library's own log shows it. `Listeners` passes it on; a flow emits by
`port.events.emit(event)`. An event never holds a value or a key of an item.
"""

from typing import TYPE_CHECKING

from singletable.events.listeners import DEBUG as DEBUG, SILENT as SILENT, Levels as Levels, Listeners as Listeners
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.events.event import Event as Event, Listener as Listener
    from singletable.events.lifecycle import (
        ChangeRetried as ChangeRetried,
        LeaseLost as LeaseLost,
        LeaseTaken as LeaseTaken,
        LetterAdded as LetterAdded,
        ShardGap as ShardGap,
        ShardOpened as ShardOpened,
        StepApplied as StepApplied,
        TaskBegun as TaskBegun,
        TaskEnded as TaskEnded,
        TaskOutcome as TaskOutcome,
        WorkerPaused as WorkerPaused,
        WorkerStarted as WorkerStarted,
        WorkerStopped as WorkerStopped,
    )
    from singletable.events.requests import RequestEnded as RequestEnded, RequestTried as RequestTried

# A program that nobody listens to makes no event.
__getattr__ = late_names(
    __name__,
    event="Event Listener",
    lifecycle=(
        "ChangeRetried LeaseLost LeaseTaken LetterAdded ShardGap ShardOpened StepApplied"
        " TaskBegun TaskEnded TaskOutcome WorkerPaused WorkerStarted WorkerStopped"
    ),
    requests="RequestEnded RequestTried",
)
