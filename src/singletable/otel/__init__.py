"""OpenTelemetry: a listener that makes spans and metrics, and carries the context of a trace through the table.

    db = connect(..., listeners=[Telemetry()])

Needs `singletable[otel]`: the API alone. Without an SDK, which the program sets up, it does nothing.
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.otel.telemetry import Telemetry as Telemetry

__getattr__ = late_names(__name__, "otel", telemetry="Telemetry")
