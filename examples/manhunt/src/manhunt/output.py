"""What the command line prints of contacts and searches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from examples_shared.terminal import print_table
from manhunt.model import Contact, ContactDetails, Incident, IncidentDetails, Policy, Rota, Search
from manhunt.picture import COLUMNS, Row
from manhunt.times import day, duration
from manhunt.views import SearchView
from manhunt.zones import OnCall, on_call, zone_of


def contact_json(found: ContactDetails) -> Any:
    from manhunt.schemas import ContactDetailsOut  # noqa: PLC0415 a worker starts without pydantic

    return ContactDetailsOut.details(found).model_dump(mode="json")


def search_json(found: Any) -> Any:
    from manhunt.schemas import SearchDetailsOut  # noqa: PLC0415

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


def print_picture(rows: Sequence[Row]) -> None:
    """The name of the field over the value."""
    cells = [[row.cells.get(column) for column in COLUMNS] for row in rows]
    lines = [
        (str(number), row.kind, *(f"{cell.field}\n{cell.value}" if cell is not None else "" for cell in of_row))
        for number, (row, of_row) in enumerate(zip(rows, cells, strict=True), start=1)
    ]
    print_table("", ("#", "entityType", *COLUMNS), lines, ruled=True)


# --- rotas, policies, incidents ---------------------------------------------------------------------------------------
def incident_json(found: IncidentDetails, searches: Sequence[Search]) -> Any:
    from manhunt.schemas_incidents import IncidentDetailsOut  # noqa: PLC0415

    return IncidentDetailsOut.details(found, list(searches)).model_dump(mode="json")


def print_rotas(rotas: Sequence[Rota], now: datetime) -> None:
    turns = [on_call(rota, now) for rota in rotas]
    lines = [
        (rota.rota_id, rota.name, turn.contact_id if turn is not None else "nobody")
        for rota, turn in zip(rotas, turns, strict=True)
    ]
    print_table("", ("rota", "name", "on call"), lines)


def print_rota(rota: Rota) -> None:
    zone = zone_of(rota.zone)
    turns = f"{rota.name}: turns of {duration(rota.turn_seconds)} since {day(rota.starts_at, zone)}, {rota.zone}"
    print_table(turns, ("turn", "contact"), [(str(number), id) for number, id in enumerate(rota.members, start=1)])
    lines = [
        (each.override_id, each.contact_id, day(each.starts_at, zone), day(each.ends_at, zone))
        for each in rota.overrides
    ]
    print_table("", ("override", "contact", "from", "to"), lines)


def print_calendar(turns: Sequence[OnCall], zone: ZoneInfo) -> None:
    lines = [
        (day(turn.starts_at, zone), day(turn.ends_at, zone), turn.contact_id, "override" if turn.override_id else "")
        for turn in turns
    ]
    print_table("", ("from", "to", "contact", ""), lines)


def print_policies(policies: Sequence[Policy]) -> None:
    lines = [(each.policy_id, each.name, str(len(each.stages)), str(each.repeats)) for each in policies]
    print_table("", ("policy", "name", "stages", "repeats"), lines)


def print_policy(policy: Policy) -> None:
    lines = [
        (str(number), ", ".join(f"{who.kind.value}:{who.id}" for who in stage.targets), duration(stage.wait_seconds))
        for number, stage in enumerate(policy.stages)
    ]
    print_table(f"{policy.name}, repeated {policy.repeats} times", ("stage", "who", "waits"), lines)
    if policy.links:
        print_table("", ("link", "address"), [(link.title, link.url) for link in policy.links])


def print_incidents(incidents: Sequence[Incident]) -> None:
    lines = [
        (each.incident_id, day(each.opened_at), each.status.value, each.held_by, str(each.alarms), each.summary)
        for each in incidents
    ]
    print_table("", ("incident", "opened", "status", "by", "alarms", "summary"), lines)


def print_incident(found: IncidentDetails, searches: Sequence[Search]) -> None:
    incident, links = found.incident, {link.search_id: link for link in found.searches}
    lines = [
        (str(links[search.search_id].stage), search.contact_name, search.status.value, search.search_id)
        for search in searches
    ]
    print_table(f"{incident.summary}: {incident.status.value}", ("stage", "contact", "status", "search"), lines)
    reactions = [(day(each.at), each.kind.value, each.by, each.said) for each in found.reactions]
    print_table("", ("at", "reaction", "by", ""), reactions)
    if found.resources:
        print_table("", ("resource", "address"), [(each.title, each.url) for each in found.resources])
