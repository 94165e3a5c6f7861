"""The actions of the service as commands.

An action of which nobody waits for a result is one line of `PLAIN`: its command, its arguments, and its first sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click
import msgspec

from examples_shared.cost import metered
from examples_shared.opening import pass_opened
from examples_shared.terminal import print_cost, print_json
from organisations.groups import Group
from organisations.output import (
    decision_json,
    holders_json,
    invitations_json,
    job_json,
    print_decision,
    print_holders,
    print_invitations,
    print_reach,
    print_trail,
    reach_json,
    trail_json,
)
from organisations.service import Service

Function = Callable[..., Any]

PLAIN: Mapping[str, tuple[Function, tuple[str, ...], str]] = {
    "accept": (Service.accept, ("organisation_id", "email"), "Accept an invitation in the user's name."),
    "decline": (Service.decline, ("organisation_id", "email"), "Decline an invitation in the user's name."),
    "withdraw": (Service.withdraw, ("organisation_id", "email"), "Withdraw an open invitation."),
    "leave": (Service.leave, ("organisation_id", "email"), "Leave an organisation, in the member's name."),
    "remove-user": (
        Service.remove_user,
        ("organisation_id", "email"),
        "Take a member, or an invitation, out of an organisation.",
    ),
    "put-service": (
        Service.put_service,
        ("organisation_id", "service_id", "name"),
        "A new service, or a new name for one.",
    ),
    "delete-service": (
        Service.delete_service,
        ("organisation_id", "service_id"),
        "Delete a service, its groups from all members; again, where it was broken off.",
    ),
}

OF_GROUPS: Mapping[str, tuple[Function, str]] = {
    "invite": (Service.invite, "Invite an address, and offer it groups."),
    "add": (Service.add_to_groups, "Put a member into groups."),
    "remove": (Service.remove_from_groups, "Take a member out of groups."),
}


def run(app: Service, action: Callable[[], object]) -> None:
    """An action whose result nobody waits for."""
    print_cost(metered(app.db, action)[1].cost)


def _plain(name: str, action: Function, arguments: tuple[str, ...], said: str) -> click.Command:
    @pass_opened
    def command(app: Service, /, **given: str) -> None:
        run(app, lambda: action(app, *(given[argument] for argument in arguments)))

    return click.Command(name, callback=command, params=[click.Argument([a]) for a in arguments], help=said)


def group_options(function: Function) -> Function:
    """The options --group NAME and --service-group SERVICE NAME, each any number of times."""
    function = click.option("--service-group", "service_groups", type=(str, str), multiple=True)(function)
    return click.option("--group", "names", multiple=True)(function)


def groups_of(names: tuple[str, ...], service_groups: tuple[tuple[str, str], ...]) -> list[Group]:
    return [*map(Group, names), *(Group(name, service_id) for service_id, name in service_groups)]


def _of_groups(name: str, action: Function, said: str) -> click.Command:
    @click.command(name, help=said)
    @click.argument("organisation_id")
    @click.argument("email")
    @group_options
    @pass_opened
    def command(app: Service, /, organisation_id: str, email: str, **groups: Any) -> None:
        run(app, lambda: action(app, organisation_id, email, groups_of(**groups)))

    return command


# --- users ------------------------------------------------------------------------------------------------------------
@click.command()
@click.argument("email")
@click.option("--first-name", default="")
@click.option("--last-name", default="")
@click.option("--phone", default="")
@pass_opened
def register(app: Service, /, email: str, first_name: str, last_name: str, phone: str) -> None:
    """Register a user, or change their details."""
    run(app, lambda: app.put_user(email, first_name=first_name, last_name=last_name, phone=phone))


@click.command("get-user")
@click.argument("email")
@pass_opened
def get_user(app: Service, email: str) -> None:
    """A user's own record."""
    found, took = metered(app.db, lambda: app.get_user(email))
    names = "first_name", "last_name", "phone"
    shown = {"email": found.shown_as or found.email, **{name: getattr(found, name) for name in names}}
    print_json({**shown, "created_at": found.created_at.isoformat(), "cost": vars(took.cost)})


@click.command("erase-user")
@click.argument("email")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@pass_opened
def erase_user(app: Service, email: str, dry_run: bool, yes: bool) -> None:
    """Delete all of a user, for good; prints the receipt, which doesn't name them. Let `work --once` end before."""
    if dry_run or not yes:
        found = app.plan_erasure(email)
        print_json({"deleted": found.deleted, "cleared": found.cleared})
    if not dry_run:
        if not yes:
            click.confirm("Delete this for good?", abort=True, err=True)
        print_json(msgspec.to_builtins(app.erase_user(email, by="operator")))


# --- permissions ------------------------------------------------------------------------------------------------------
as_json = click.option("--json", "as_json", is_flag=True)
paged = click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
OWN = "-"
"""In place of a service: the organisation's own groups."""


def _service_id(said: str | None) -> str | None:
    return None if said == OWN else said


@click.command()
@click.argument("organisation_id")
@click.argument("user")
@click.argument("service")
@click.argument("group", required=False)
@click.option("--explain", is_flag=True, help="By which groups, given by whom, since when.")
@as_json
@click.pass_context
def may(
    context: click.Context,
    organisation_id: str,
    user: str,
    service: str,
    group: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Whether USER is in GROUP of SERVICE; in any group of it, without GROUP. Exit status 0 for yes, 1 for no.

    SERVICE is - for the organisation's own groups.
    """
    app: Service = context.obj.opened()
    asked = {"service": _service_id(service), "group": group}
    if explain:
        found, took = metered(app.db, lambda: app.explain(user, organisation_id, **asked))
        print_json(decision_json(found, took.cost)) if as_json else print_decision(found)
        is_allowed = found.may
    else:
        is_allowed, took = metered(app.db, lambda: app.may(user, organisation_id, **asked))
        print_json({"may": is_allowed, "cost": vars(took.cost)}) if as_json else click.echo(
            "yes" if is_allowed else "no"
        )
    if not as_json:
        print_cost(took.cost)
    context.exit(0 if is_allowed else 1)


@click.command("who-may")
@click.argument("organisation_id")
@click.argument("service")
@click.argument("group", required=False)
@paged
@as_json
@pass_opened
def who_may(app: Service, organisation_id: str, service: str, group: str | None, limit: int, as_json: bool) -> None:
    """The people in GROUP of SERVICE, or in all its groups. SERVICE is - for the organisation's own groups."""
    asked = {"service": _service_id(service), "group": group}
    found, took = metered(app.db, lambda: app.who_may(organisation_id, limit=limit, **asked))
    if as_json:
        return print_json(holders_json(found, took.cost))
    print_holders(found)
    return print_cost(took.cost)


@click.command()
@click.argument("user")
@as_json
@pass_opened
def reach(app: Service, user: str, as_json: bool) -> None:
    """The groups and services of USER in all organisations."""
    found, took = metered(app.db, lambda: app.reach(user))
    if as_json:
        return print_json(reach_json(found, took.cost))
    print_reach(user, found)
    return print_cost(took.cost)


# --- organisations ----------------------------------------------------------------------------------------------------
@click.command()
@click.argument("name")
@click.option("--owner", required=True)
@pass_opened
def create(app: Service, name: str, owner: str) -> None:
    """A new organisation; prints its id."""
    made, took = metered(app.db, lambda: app.create_organisation(name, owner=owner))
    click.echo(made.organisation_id)
    print_cost(took.cost)


@click.command()
@click.argument("organisation_id")
@click.argument("name")
@click.option("--later", is_flag=True, help="Its record alone: `work` brings the name to the copies, any number.")
@pass_opened
def rename(app: Service, organisation_id: str, name: str, later: bool) -> None:
    """Change an organisation's name, with its copies. For more than 99 people `work` does that; prints the job's id."""
    if later:
        return run(app, lambda: app.rename_organisation(organisation_id, name))
    renamed, took = metered(app.db, lambda: app.put_organisation(organisation_id, name))
    if renamed.job is not None:
        click.echo(renamed.job.job_id)
    return print_cost(took.cost)


@click.command()
@click.argument("organisation_id")
@pass_opened
def delete(app: Service, organisation_id: str) -> None:
    """Hide an organisation at once; `work` deletes it. Prints the job's id."""
    job, took = metered(app.db, lambda: app.delete_organisation(organisation_id))
    click.echo(job.job_id)
    print_cost(took.cost)


@click.command()
@click.argument("job_id")
@pass_opened
def job(app: Service, job_id: str) -> None:
    """How far a job is."""
    found, took = metered(app.db, lambda: app.job(job_id))
    print_json(job_json(found, took.cost))


@click.command("get")
@click.argument("organisation_id")
@pass_opened
def get_organisation(app: Service, organisation_id: str) -> None:
    """An organisation's own record."""
    found, took = metered(app.db, lambda: app.get_organisation(organisation_id))
    print_json({"organisation_id": found.organisation_id, "name": found.organisation_name, "cost": vars(took.cost)})


@click.command()
@click.argument("organisation_id")
@paged
@as_json
@pass_opened
def invitations(app: Service, organisation_id: str, limit: int, as_json: bool) -> None:
    """The open invitations, oldest first."""
    found, took = metered(app.db, lambda: app.open_invitations(organisation_id, limit=limit))
    if as_json:
        return print_json(invitations_json(found, took.cost))
    print_invitations(found)
    return print_cost(took.cost)


@click.command()
@click.argument("organisation_id")
@paged
@as_json
@pass_opened
def trail(app: Service, organisation_id: str, limit: int, as_json: bool) -> None:
    """What happened, newest first, as `work` has seen it."""
    found, took = metered(app.db, lambda: app.trail(organisation_id, limit=limit))
    if as_json:
        return print_json(trail_json(found, took.cost))
    print_trail(found)
    return print_cost(took.cost)


@click.command()
@click.argument("organisation_id")
@click.option("--text", help="Send it to each of them as a mail; `work` does. Prints the jobs' ids.")
@group_options
@pass_opened
def message(app: Service, /, organisation_id: str, text: str | None, **groups: Any) -> None:
    """A message to groups. Without --text: who it would go to, at their details of this moment, one address a line."""
    for group in groups_of(**groups):
        if text is None:
            run(app, partial(app.recipients, organisation_id, group, lambda person: click.echo(person.shown)))
        else:
            sent, took = metered(app.db, partial(app.send_message, organisation_id, group, text))
            click.echo(sent.job_id)
            print_cost(took.cost)


actions: tuple[click.Command, ...] = (
    register,
    get_user,
    erase_user,
    may,
    who_may,
    reach,
    create,
    rename,
    delete,
    job,
    get_organisation,
    invitations,
    trail,
    message,
    *(_plain(name, *how) for name, how in PLAIN.items()),
    *(_of_groups(name, *how) for name, how in OF_GROUPS.items()),
)
