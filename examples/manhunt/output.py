"""What the command line prints of contacts and searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from examples.manhunt.model import Contact, ContactDetails, Search
from examples.manhunt.times import day, duration
from examples.manhunt.views import SearchView
from examples.shared.terminal import print_table


def contact_json(found: ContactDetails) -> Any:
    from examples.manhunt.schemas import ContactDetailsOut  # noqa: PLC0415 a worker starts without pydantic

    return ContactDetailsOut.details(found).model_dump(mode="json")


def search_json(found: Any) -> Any:
    from examples.manhunt.schemas import SearchDetailsOut  # noqa: PLC0415

    return SearchDetailsOut.details(found).model_dump(mode="json")


def print_contacts(contacts: Sequence[Contact]) -> None:
    print_table("", ("contact", "name", "methods"), [(c.contact_id, c.name, str(c.method_count)) for c in contacts])


def print_contact(found: ContactDetails) -> None:
    methods = sorted(found.methods, key=lambda m: (m.order, m.method_id))
    columns = "method", "kind", "to", "order", "wait", "enabled"
    lines = [
        (m.method_id, m.kind.value, m.destination, str(m.order), duration(m.wait_seconds), "yes" if m.enabled else "no")
        for m in methods
    ]
    print_table(found.contact.name, columns, lines)


def print_searches(searches: Sequence[Search]) -> None:
    lines = [(s.search_id, day(s.started_at), s.status.value, _ending(s)) for s in searches]
    print_table("", ("search", "started", "status", "by"), lines)


def print_search(view: SearchView) -> None:
    search = view.search
    lines = [
        (
            str(step.number),
            step.method.kind.value,
            step.method.destination,
            day(step.attempt.attempted_at) if step.attempt else day(step.due_at) if step.due_at else "",
            step.said,
        )
        for step in view.steps
    ]
    print_table(f"{search.contact_name}: {view.text}", ("step", "kind", "to", "at", ""), lines)
    print_table("", ("status", "by"), [(search.status.value, _ending(search))])


def _ending(search: Search) -> str:
    if search.resolution is None:
        return ""
    return ", ".join(part for part in (search.resolution.by, search.resolution.how, search.resolution.reason) if part)
