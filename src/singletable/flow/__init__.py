"""Flows: coroutines that await only their port. A guide for the author of a flow.

An *operation* is a frozen value with a pure `request()` and `answer()`: one request of the service. The package
`operations` has one class for each action.

A *flow* is an `async def` that takes a port and awaits only its verbs:

    async def rename(port: Port, name: str) -> Item | None:
        found = await port.send(GetItem(...))                     # one round trip
        copies = await port.send_all([PutItem(...), ...])         # 16 requests at a time, one round trip for each 16
        await port.sleep(1.0)                                     # waits as the shell waits
        return found

The rules:

1. Await nothing but the port: `send`, `send_all`, `call_all`, `sleep`, and other flows. The blocking shell runs a flow
   by one `.send(None)`, so any other await raises `FlowSuspended`.
2. Take time, chance and tokens from the port: `now()` for dates that are stored, `monotonic()` for durations,
   `random()` for jitter, `token()` for ids. Tests replace them.
3. Call an application's functions by `call_all`: it runs plain functions off the event loop, and awaits async ones.
4. Ask `port.traits` for what differs between engines, never the endpoint.

Read `port` (the verbs), `driver` (how the blocking shell runs a flow), `shells` (what a database offers to a layer) and
`calls` (an application's functions, run concurrently). Kernels hold what many flows do: `contention` (read, decide,
write, and again where another writer was first), `leases` (one process at a time works on something), `worker` (slots,
a heartbeat, and when it ends), `trouble` (a worker's waits while its requests fail) and `pages` (answers that go on).
`meter` counts what was sent, `rate` bounds it, `patience` waits while a table is throttled; `request` has values;
`fork_safe_lock` serves the ports. No module here knows a transport: those are in `wire`.
"""

from typing import TYPE_CHECKING

from singletable.flow.capabilities import (
    CAPABILITIES as CAPABILITIES,
    OPERATIONS as OPERATIONS,
    Capability as Capability,
    lacking as lacking,
)
from singletable.flow.driver import FlowSuspended as FlowSuspended, drive as drive
from singletable.flow.meter import (
    ACTIVE as ACTIVE,
    Meter as Meter,
    OperationCount as OperationCount,
    RoundTrips as RoundTrips,
    count_answer as count_answer,
    count_throttle as count_throttle,
    count_try as count_try,
    count_units as count_units,
    note_estimate as note_estimate,
    unmetered as unmetered,
)
from singletable.flow.port import (
    FAN_OUT as FAN_OUT,
    NO_FACTS as NO_FACTS,
    NOTHING_CONSUMED as NOTHING_CONSUMED,
    Consumed as Consumed,
    HeldMarks as HeldMarks,
    Operation as Operation,
    OperationFacts as OperationFacts,
    Port as Port,
    ReadyTables as ReadyTables,
    ThreadSafeReadyTables as ThreadSafeReadyTables,
    Traits as Traits,
    WrappedPort as WrappedPort,
    instant as instant,
)
from singletable.flow.rate import Rate as Rate, at_rate as at_rate, unrated as unrated
from singletable.flow.request import (
    DYNAMODB as DYNAMODB,
    DYNAMODB_STREAMS as DYNAMODB_STREAMS,
    SQS as SQS,
    Request as Request,
    Response as Response,
    Service as Service,
)
from singletable.flow.table_names import (
    DECLARED as DECLARED,
    LEASES as LEASES,
    NAMES_VARIABLE as NAMES_VARIABLE,
    PREFIX_VARIABLE as PREFIX_VARIABLE,
    TableNames as TableNames,
    name_in as name_in,
    named_table as named_table,
)
from singletable.fork_safe_lock import ForkSafeLock as ForkSafeLock
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.flow.calls import (
        call_in_loop as call_in_loop,
        call_in_threads as call_in_threads,
        refuse_awaitable as refuse_awaitable,
    )
    from singletable.flow.contention import Race as Race
    from singletable.flow.durable_files import (
        DurableDirectories as DurableDirectories,
        sync_directory as sync_directory,
    )
    from singletable.flow.embedded_metrics import (
        CHANGES_BEHIND as CHANGES_BEHIND,
        CHANGES_DEAD as CHANGES_DEAD,
        NAMESPACE as NAMESPACE,
        TASKS_DEAD as TASKS_DEAD,
        TASKS_OVERDUE as TASKS_OVERDUE,
        AsyncMetricsHandler as AsyncMetricsHandler,
        MetricsHandler as MetricsHandler,
        dimensions_of as dimensions_of,
        print_metrics as print_metrics,
    )
    from singletable.flow.handing_back import (
        HandedBack as HandedBack,
        check_going_on as check_going_on,
        handling_while as handling_while,
    )
    from singletable.flow.leases import (
        LEASE_TRANSITIONS as LEASE_TRANSITIONS,
        LeaseEvent as LeaseEvent,
        LeaseState as LeaseState,
        Observations as Observations,
        Tenure as Tenure,
        acquire as acquire,
    )
    from singletable.flow.pages import pages_of as pages_of, pages_side_by_side as pages_side_by_side
    from singletable.flow.patience import patiently as patiently, send_patiently as send_patiently, until as until
    from singletable.flow.shells import (
        AsyncLambdaHandler as AsyncLambdaHandler,
        Awaiting as Awaiting,
        Blocking as Blocking,
        LambdaAnswer as LambdaAnswer,
        LambdaHandler as LambdaHandler,
        about as about,
        check_awaiting as check_awaiting,
        check_blocking as check_blocking,
        is_of_shell as is_of_shell,
        refuse_async as refuse_async,
    )
    from singletable.flow.side_by_side import side_by_side as side_by_side
    from singletable.flow.transitions import Transitions as Transitions
    from singletable.flow.trouble import CarefulPort as CarefulPort, Trouble as Trouble
    from singletable.flow.waits import pause as pause, pause_for_index as pause_for_index
    from singletable.flow.worker import (
        UNGATED as UNGATED,
        Gate as Gate,
        Heartbeat as Heartbeat,
        Kernel as Kernel,
        Stop as Stop,
        stopping as stopping,
    )

# For layers and workers; a program that only reads and writes doesn't need these.
__getattr__ = late_names(
    __name__,
    calls="call_in_loop call_in_threads refuse_awaitable",
    contention="Race",
    durable_files="DurableDirectories sync_directory",
    embedded_metrics=(
        "CHANGES_BEHIND CHANGES_DEAD NAMESPACE TASKS_DEAD TASKS_OVERDUE AsyncMetricsHandler MetricsHandler "
        "dimensions_of print_metrics"
    ),
    handing_back="HandedBack check_going_on handling_while",
    leases="LEASE_TRANSITIONS LeaseEvent LeaseState Observations Tenure acquire",
    pages="pages_of pages_side_by_side",
    patience="patiently send_patiently until",
    shells=(
        "AsyncLambdaHandler Awaiting Blocking LambdaAnswer LambdaHandler"
        " about check_awaiting check_blocking is_of_shell refuse_async"
    ),
    side_by_side="side_by_side",
    transitions="Transitions",
    trouble="CarefulPort Trouble",
    waits="pause pause_for_index",
    worker="UNGATED Gate Heartbeat Kernel Stop stopping",
)
