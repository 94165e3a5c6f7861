"""Writes `docs/reference/log-records.md` from the events: `python -m tests.docs.log_records`."""

from __future__ import annotations

from collections.abc import Iterator

import singletable.events as events
from singletable.events import Event, Problem
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "log-records.md"
_HEAD = """# Log records

The records that the library's log makes of its [events](../how-to/watch.md). The name of an event is the attribute
`singletable_event` of a record, each field an attribute that begins with `singletable_`. `singletable_left_out` is the
number of records of the same cause since the last one. A record at ERROR has the traceback of its error, and so
have those of {}, as no other record tells it.
`python -m tests.docs.log_records` writes this page.

| event | logger | levels | when | fields |
|---|---|---|---|---|
"""


def kinds() -> Iterator[type[Event]]:
    """Every class of events, by its name."""
    for name in sorted({*events.__getattr__("__all__")}):
        kind = getattr(events, name)
        if isinstance(kind, type) and issubclass(kind, Event) and kind not in (Event, Problem):
            yield kind


def row(kind: type[Event]) -> str:
    when = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    fields = ", ".join(f"`{name}`" for name in kind.__struct_fields__)
    return f"| `{kind.__name__}` | `{kind.logger}` | {', '.join(kind.levels)} | {when} | {fields} |\n"


def page() -> str:
    told = ", ".join(f"`{kind.__name__}`" for kind in kinds() if kind.shows_traceback)
    return _HEAD.format(told) + "".join(map(row, kinds()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
