"""The rotas, policies and incidents of a domain as commands."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import click

from examples_shared.cost import metered
from examples_shared.opening import pass_opened
from examples_shared.terminal import print_cost, print_json
from manhunt.actions import Operator, print_more, since_until
from manhunt.incidents import ASSIGNED_SECONDS
from manhunt.input_formats import link, moment, seconds_of, stage, target
from manhunt.model import IncidentStatus
from manhunt.output import (
    incident_json,
    print_calendar,
    print_incident,
    print_incidents,
    print_policies,
    print_policy,
    print_rota,
    print_rotas,
)
from manhunt.queries import Window
from manhunt.zones import zone_of

CALENDAR = timedelta(days=28)


# --- rotas ------------------------------------------------------------------------------------------------------------
@click.group()
def rota() -> None:
    """Who is on call when."""


@rota.command("add")
@click.argument("name")
@click.argument("members", metavar="CONTACT...", nargs=-1, required=True)
@click.option("--from", "starts_at", help="When the first turn begins, by the zone's clocks; now, if nothing is said.")
@click.option("--turn", default="7d", show_default=True, help="How long a turn is: 8h, 1d, 7d.")
@click.option(
    "--zone", default="UTC", show_default=True, help="Times are read and shown by its clocks, and turns keep them."
)
@pass_opened
def add_rota(op: Operator, name: str, members: tuple[str, ...], starts_at: str | None, turn: str, zone: str) -> None:
    """Contacts who take turns; print the rota's id."""
    began = moment(starts_at, zone_of(zone)) if starts_at is not None else op.service.now()
    made = op.service.create_rota(op.domain, name, members, starts_at=began, turn_seconds=seconds_of(turn), zone=zone)
    click.echo(made.rota_id)


@rota.command("list")
@click.option("--after", help="The cursor that the page before gave.")
@pass_opened
def list_rotas(op: Operator, after: str | None) -> None:
    """By name, with whoever is on call now."""
    page, took = metered(op.service.db, lambda: op.service.rotas_of_domain(op.domain, limit=100, after=after))
    print_rotas(page.items, op.service.now())
    print_more(page.cursor)
    print_cost(took.cost)


@rota.command("show")
@click.argument("rota_id")
@pass_opened
def show_rota(op: Operator, rota_id: str) -> None:
    """A rota with its overrides."""
    found, took = metered(op.service.db, lambda: op.service.rota_by_id(op.domain, rota_id))
    print_rota(found)
    print_cost(took.cost)


@rota.command("calendar")
@click.argument("rota_id")
@click.option("--since", help="Now, if nothing is said.")
@click.option("--until", help="Four weeks later, if nothing is said.")
@pass_opened
def calendar(op: Operator, rota_id: str, since: str | None, until: str | None) -> None:
    """Who is on call when, overrides included."""
    zone = _zone(op, rota_id)
    start = moment(since, zone) if since is not None else op.service.now()
    end = moment(until, zone) if until is not None else start + CALENDAR
    turns, took = metered(op.service.db, lambda: op.service.calendar(op.domain, rota_id, start, end))
    print_calendar(turns, zone)
    print_cost(took.cost)


@rota.command("change")
@click.argument("rota_id")
@click.option("--name")
@click.option("--member", "members", metavar="CONTACT", multiple=True, help="All of them, in the order of their turns.")
@click.option("--from", "starts_at")
@click.option("--turn")
@click.option("--zone")
@pass_opened
def change_rota(
    op: Operator,
    rota_id: str,
    name: str | None,
    members: tuple[str, ...],
    starts_at: str | None,
    turn: str | None,
    zone: str | None,
) -> None:
    """Searches that are open go on for whom they were opened."""
    clocks = zone_of(zone) if zone is not None else _zone(op, rota_id)
    op.service.change_rota(
        op.domain,
        rota_id,
        name=name,
        members=members or None,
        starts_at=moment(starts_at, clocks) if starts_at is not None else None,
        turn_seconds=seconds_of(turn) if turn is not None else None,
        zone=zone,
    )


@rota.command("override")
@click.argument("rota_id")
@click.argument("contact_id")
@click.argument("starts_at")
@click.argument("ends_at")
@pass_opened
def add_override(op: Operator, rota_id: str, contact_id: str, starts_at: str, ends_at: str) -> None:
    """A contact stands in from one moment until before another, by the clocks of the rota's zone; print the override's
    id."""
    zone = _zone(op, rota_id)
    made = op.service.add_override(op.domain, rota_id, contact_id, moment(starts_at, zone), moment(ends_at, zone))
    click.echo(made.override_id)


@rota.command("drop-override")
@click.argument("rota_id")
@click.argument("override_id")
@pass_opened
def delete_override(op: Operator, rota_id: str, override_id: str) -> None:
    """The turns are again as without it."""
    op.service.delete_override(op.domain, rota_id, override_id)


@rota.command("delete")
@click.argument("rota_id")
@pass_opened
def delete_rota(op: Operator, rota_id: str) -> None:
    """Stages that name it pass over it."""
    op.service.delete_rota(op.domain, rota_id)


def _zone(op: Operator, rota_id: str) -> ZoneInfo:
    return zone_of(op.service.rota_by_id(op.domain, rota_id).zone)


# --- policies ---------------------------------------------------------------------------------------------------------
@click.group()
def policy() -> None:
    """Who is looked for in which order."""


def _plan_options(function: Any) -> Any:
    function = click.option("--link", "links", metavar="TITLE=URL", multiple=True, help="Of each incident.")(function)
    function = click.option("--repeats", type=int, default=0, show_default=True, help="How often all begins again.")(
        function
    )
    return click.option(
        "--stage", "stages", metavar="WHO@SECONDS", multiple=True, required=True, help="rota:ID,contact:ID@300"
    )(function)


@policy.command("add")
@click.argument("name")
@_plan_options
@pass_opened
def add_policy(op: Operator, name: str, stages: tuple[str, ...], repeats: int, links: tuple[str, ...]) -> None:
    """Print the id of a new policy."""
    plan = [stage(text) for text in stages]
    click.echo(
        op.service.create_policy(op.domain, name, plan, repeats=repeats, links=[link(text) for text in links]).policy_id
    )


@policy.command("list")
@click.option("--after", help="The cursor that the page before gave.")
@pass_opened
def list_policies(op: Operator, after: str | None) -> None:
    """By name."""
    page, took = metered(op.service.db, lambda: op.service.policies_of_domain(op.domain, limit=100, after=after))
    print_policies(page.items)
    print_more(page.cursor)
    print_cost(took.cost)


@policy.command("show")
@click.argument("policy_id")
@pass_opened
def show_policy(op: Operator, policy_id: str) -> None:
    """Its stages."""
    found, took = metered(op.service.db, lambda: op.service.policy_by_id(op.domain, policy_id))
    print_policy(found)
    print_cost(took.cost)


@policy.command("replace")
@click.argument("policy_id")
@click.argument("name")
@_plan_options
@pass_opened
def replace_policy(
    op: Operator, policy_id: str, name: str, stages: tuple[str, ...], repeats: int, links: tuple[str, ...]
) -> None:
    """Incidents that are open keep their copy."""
    plan = [stage(text) for text in stages]
    op.service.replace_policy(op.domain, policy_id, name, plan, repeats=repeats, links=[link(text) for text in links])


@policy.command("delete")
@click.argument("policy_id")
@pass_opened
def delete_policy(op: Operator, policy_id: str) -> None:
    """Incidents that are open go on by their copy."""
    op.service.delete_policy(op.domain, policy_id)


# --- incidents --------------------------------------------------------------------------------------------------------
@click.group()
def incident() -> None:
    """What is wrong, and who answers."""


@incident.command("open")
@click.argument("policy_id")
@click.argument("summary")
@click.option("--key", "alarm_key", default="", help="Further alarms with it belong to this incident until it ends.")
@click.option("--urgent/--not-urgent", default=True, help="What is not urgent waits for the end of quiet hours.")
@pass_opened
def open_incident(op: Operator, policy_id: str, summary: str, alarm_key: str, urgent: bool) -> None:
    """An alarm: print the id of its incident."""
    opened = op.service.open_incident(op.domain, policy_id, summary, alarm_key=alarm_key, urgent=urgent)
    if not opened.is_new:
        click.echo(f"alarm {opened.incident.alarms} of this incident", err=True)
    click.echo(opened.incident.incident_id)
    if opened.incident.has_ended:
        click.echo(f"{opened.incident.status.value}: nobody can be reached", err=True)


@incident.command("list")
@click.option("--status", type=click.Choice([status.value for status in IncidentStatus]))
@since_until
@click.option("--after", help="The cursor that the page before gave.")
@pass_opened
def list_incidents(op: Operator, status: str | None, window: Window, after: str | None) -> None:
    """The newest first."""
    asked = IncidentStatus(status) if status is not None else None
    page, took = metered(
        op.service.db,
        lambda: op.service.incidents_of_domain(op.domain, status=asked, window=window, limit=100, after=after),
    )
    print_incidents(page.items)
    print_more(page.cursor)
    print_cost(took.cost)


@incident.command("show")
@click.argument("incident_id")
@click.option("--json", "as_json", is_flag=True)
@pass_opened
def show_incident(op: Operator, incident_id: str, as_json: bool) -> None:
    """With its searches, people, resources and reactions."""

    def ask() -> Any:
        found = op.service.incident_with_all(op.domain, incident_id)
        return found, op.service.searches_of_incident(found)

    (found, searches), took = metered(op.service.db, ask)
    if as_json:
        return print_json(incident_json(found, searches))
    print_incident(found, searches)
    return print_cost(took.cost)


def _who(function: Any) -> Any:
    function = click.option("--said", default="", help="A word to it.")(function)
    return click.option("--by", required=True, help="Who does it.")(function)


@incident.command("acknowledge")
@click.argument("incident_id")
@_who
@pass_opened
def acknowledge(op: Operator, incident_id: str, by: str, said: str) -> None:
    """Somebody is on it: nobody else is looked for."""
    op.service.acknowledge(op.domain, incident_id, by=by, said=said)


@incident.command("snooze")
@click.argument("incident_id")
@click.argument("length", metavar="TIME")
@_who
@pass_opened
def snooze(op: Operator, incident_id: str, length: str, by: str, said: str) -> None:
    """Nobody is looked for until TIME (15m, 8h) is over; then the hunt begins anew."""
    op.service.snooze(op.domain, incident_id, by=by, seconds=seconds_of(length), said=said)


@incident.command("reassign")
@click.argument("incident_id")
@click.argument("targets", metavar="WHO...", nargs=-1, required=True)
@click.option(
    "--wait", default=str(ASSIGNED_SECONDS), show_default=True, help="Before the stages of the policy follow."
)
@_who
@pass_opened
def reassign(op: Operator, incident_id: str, targets: tuple[str, ...], wait: str, by: str, said: str) -> None:
    """Look for others: contact:ID, rota:ID."""
    chosen = [target(text) for text in targets]
    op.service.reassign(op.domain, incident_id, chosen, by=by, said=said, wait_seconds=seconds_of(wait))


@incident.command("resolve")
@click.argument("incident_id")
@_who
@pass_opened
def resolve(op: Operator, incident_id: str, by: str, said: str) -> None:
    """It is over, for good."""
    op.service.resolve(op.domain, incident_id, by=by, said=said)


@incident.command("add-resource")
@click.argument("incident_id")
@click.argument("resource", metavar="TITLE=URL")
@pass_opened
def add_resource(op: Operator, incident_id: str, resource: str) -> None:
    """Where those who work on it meet; print its id."""
    given = link(resource)
    click.echo(op.service.add_resource(op.domain, incident_id, given.title, given.url).resource_id)


groups: tuple[click.Group, ...] = (rota, policy, incident)
