"""Events: frozen values for listeners, of the requests that the library sends and of what its workers do.

    def count(event: Event) -> None:
        if isinstance(event, RequestEnded):
            counts.update(event.patterns)

    db = connect("local", listeners=[count])

`Event` says how the library's own log shows it. `Listeners` passes it on; a flow emits by
`port.events.emit(event)`. An event never holds a value or a key of an item. A listener may be a `Carrier` too: its
trace contexts are stored with tasks, mutations, messages and changed items, and given back where these are handled.
"""

from typing import TYPE_CHECKING

from singletable.events.listeners import (
    DEBUG as DEBUG,
    INFO as INFO,
    SILENT as SILENT,
    SLOW_SECONDS as SLOW_SECONDS,
    Levels as Levels,
    Listeners as Listeners,
)
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.events.context import (
        Carrier as Carrier,
        Handled as Handled,
        Sent as Sent,
        TraceContext as TraceContext,
        TracedWork as TracedWork,
    )
    from singletable.events.event import (
        Event as Event,
        Listener as Listener,
        Problem as Problem,
        described as described,
    )
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
        WorkOverran as WorkOverran,
    )
    from singletable.events.mutations import (
        AnswerRefused as AnswerRefused,
        ClientResetNeeded as ClientResetNeeded,
        MutationRejected as MutationRejected,
        MutationsDropped as MutationsDropped,
        MutationStuck as MutationStuck,
        MutationsWaiting as MutationsWaiting,
    )
    from singletable.events.pages import (
        ItemWritten as ItemWritten,
        PageFailed as PageFailed,
        PageRefused as PageRefused,
    )
    from singletable.events.problems import (
        ChangeReturned as ChangeReturned,
        ChangesPassedOver as ChangesPassedOver,
        ClockCorrected as ClockCorrected,
        ContentsLeftOut as ContentsLeftOut,
        CredentialsKept as CredentialsKept,
        GuardKept as GuardKept,
        IndexUnfilled as IndexUnfilled,
        MessageDropped as MessageDropped,
        MessageFailed as MessageFailed,
        TableHeld as TableHeld,
    )
    from singletable.events.requests import (
        BlobCalled as BlobCalled,
        CredentialsFetched as CredentialsFetched,
        FirstAnswered as FirstAnswered,
        RequestEnded as RequestEnded,
        RequestTried as RequestTried,
        TableMissing as TableMissing,
        WaitBegun as WaitBegun,
    )

# A program that nobody listens to makes no event.
__getattr__ = late_names(
    __name__,
    context="Carrier Handled Sent TraceContext TracedWork",
    event="Event Problem Listener described",
    problems=(
        "ChangeReturned ChangesPassedOver ClockCorrected ContentsLeftOut CredentialsKept GuardKept"
        " IndexUnfilled MessageDropped MessageFailed TableHeld"
    ),
    lifecycle=(
        "ChangeRetried LeaseLost LeaseTaken LetterAdded ShardGap ShardOpened StepApplied"
        " TaskBegun TaskEnded TaskOutcome WorkerPaused WorkerStarted WorkerStopped WorkOverran"
    ),
    mutations="AnswerRefused ClientResetNeeded MutationRejected MutationStuck MutationsDropped MutationsWaiting",
    pages="ItemWritten PageFailed PageRefused",
    requests="BlobCalled CredentialsFetched FirstAnswered RequestEnded RequestTried TableMissing WaitBegun",
)
