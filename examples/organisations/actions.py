"""The actions of the service as commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from examples.organisations.groups import Group
from examples.organisations.service import Service
from examples.shared.cost import metered
from examples.shared.opening import pass_opened
from examples.shared.terminal import print_cost, print_json

T = TypeVar("T")


def run(app: Service, action: Callable[[], object]) -> None:
    """An action whose result nobody waits for."""
    print_cost(metered(app.db, action)[1].cost)


# --- users and invitations --------------------------------------------------------------------------------------------
@click.command()
@click.argument("email")
@click.option("--first-name", default="")
@click.option("--last-name", default="")
@click.option("--phone", default="")
@pass_opened
def register(app: Service, email: str, first_name: str, last_name: str, phone: str) -> None:
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


def group_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options --group NAME and --service-group SERVICE NAME, each any number of times."""
    function = click.option("--service-group", "service_groups", type=(str, str), multiple=True)(function)
    return click.option("--group", "names", multiple=True)(function)


def groups_of(names: tuple[str, ...], service_groups: tuple[tuple[str, str], ...]) -> list[Group]:
    return [*map(Group, names), *(Group(name, service_id) for service_id, name in service_groups)]


@click.command()
@click.argument("organisation_id")
@click.argument("email")
@group_options
@pass_opened
def invite(
    app: Service, organisation_id: str, email: str, names: tuple[str, ...], service_groups: tuple[tuple[str, str], ...]
) -> None:
    """Invite an address, and offer it groups."""
    run(app, lambda: app.invite(organisation_id, email, groups_of(names, service_groups)))


@click.command()
@click.argument("organisation_id")
@click.argument("email")
@pass_opened
def accept(app: Service, organisation_id: str, email: str) -> None:
    """Accept an invitation in the user's name."""
    run(app, lambda: app.accept(organisation_id, email))


@click.command()
@click.argument("organisation_id")
@click.argument("email")
@pass_opened
def decline(app: Service, organisation_id: str, email: str) -> None:
    """Decline an invitation in the user's name."""
    run(app, lambda: app.decline(organisation_id, email))


# --- organisations and their parts ------------------------------------------------------------------------------------
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
@click.option("--later", is_flag=True, help="Its record alone: `changes` brings the name to the copies, any number.")
@pass_opened
def rename(app: Service, organisation_id: str, name: str, later: bool) -> None:
    """Change an organisation's name, with its copies."""
    run(app, lambda: (app.rename_organisation if later else app.put_organisation)(organisation_id, name))


@click.command("get")
@click.argument("organisation_id")
@pass_opened
def get_organisation(app: Service, organisation_id: str) -> None:
    """An organisation's own record."""
    found, took = metered(app.db, lambda: app.get_organisation(organisation_id))
    print_json({"organisation_id": found.organisation_id, "name": found.organisation_name, "cost": vars(took.cost)})


@click.command("put-service")
@click.argument("organisation_id")
@click.argument("service_id")
@click.argument("name")
@pass_opened
def put_service(app: Service, organisation_id: str, service_id: str, name: str) -> None:
    """A new service, or a new name for one."""
    run(app, lambda: app.put_service(organisation_id, service_id, name))


@click.command("delete-service")
@click.argument("organisation_id")
@click.argument("service_id")
@pass_opened
def delete_service(app: Service, organisation_id: str, service_id: str) -> None:
    """Delete a service, its groups from all members; again, where it was broken off."""
    run(app, lambda: app.delete_service(organisation_id, service_id))


@click.command("add")
@click.argument("organisation_id")
@click.argument("email")
@group_options
@pass_opened
def add_to_groups(
    app: Service, organisation_id: str, email: str, names: tuple[str, ...], service_groups: tuple[tuple[str, str], ...]
) -> None:
    """Put a member into groups."""
    run(app, lambda: app.add_to_groups(organisation_id, email, groups_of(names, service_groups)))


@click.command("remove")
@click.argument("organisation_id")
@click.argument("email")
@group_options
@pass_opened
def remove_from_groups(
    app: Service, organisation_id: str, email: str, names: tuple[str, ...], service_groups: tuple[tuple[str, str], ...]
) -> None:
    """Take a member out of groups."""
    run(app, lambda: app.remove_from_groups(organisation_id, email, groups_of(names, service_groups)))


@click.command("remove-user")
@click.argument("organisation_id")
@click.argument("email")
@pass_opened
def remove_user(app: Service, organisation_id: str, email: str) -> None:
    """Take a member, or an invitation, out of an organisation."""
    run(app, lambda: app.remove_user(organisation_id, email))


@click.command()
@click.argument("organisation_id")
@group_options
@pass_opened
def message(
    app: Service, organisation_id: str, names: tuple[str, ...], service_groups: tuple[tuple[str, str], ...]
) -> None:
    """Who a message to a group goes to, at their details of this moment: one address a line."""
    for group in groups_of(names, service_groups):
        run(app, partial(app.message, organisation_id, group, lambda person: click.echo(person.shown)))


actions: tuple[click.Command, ...] = (
    register,
    get_user,
    invite,
    accept,
    decline,
    create,
    rename,
    get_organisation,
    put_service,
    delete_service,
    add_to_groups,
    remove_from_groups,
    remove_user,
    message,
)
