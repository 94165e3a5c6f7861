"""The contacts, methods and searches of a domain as commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import update_wrapper
from typing import Any

import click
import msgspec

from examples_shared.cost import metered
from examples_shared.opening import pass_opened
from examples_shared.terminal import print_cost, print_json
from manhunt.base import WEEK_SECONDS
from manhunt.errors import Invalid
from manhunt.input_formats import moment
from manhunt.messages import DEFAULT_MESSAGE
from manhunt.model import Kind, QuietHours, Status
from manhunt.output import (
    contact_json,
    print_contact,
    print_contacts,
    print_search,
    print_searches,
    search_json,
)
from manhunt.queries import Window
from manhunt.searches import ANSWER_SECONDS
from manhunt.service import Service
from manhunt.views import search_view


@dataclass(frozen=True)
class Operator:
    """Whoever holds the command line: speaks for the domain that is named."""

    service: Service
    domain: str


SECONDS = click.IntRange(0, WEEK_SECONDS)


def since_until(function: Callable[..., Any]) -> Callable[..., Any]:
    """Two options that together are the argument `window`."""

    def run(*given: Any, since: str | None, until: str | None, **options: Any) -> Any:
        return function(*given, window=Window(_moment(since), _moment(until)), **options)

    found = update_wrapper(run, function)
    for name, shown in (("until", "Before this moment."), ("since", "After this moment, as in 2026-01-31T09:30Z.")):
        found = click.option(f"--{name}", help=shown)(found)
    return found


def _moment(text: str | None) -> datetime | None:
    return moment(text) if text is not None else None


def print_more(cursor: str | None) -> None:
    if cursor is not None:
        click.echo(f"more: --after {cursor}")


# --- contacts ---------------------------------------------------------------------------------------------------------
@click.group()
def contact() -> None:
    """The contacts of the domain."""


@contact.command("add")
@click.argument("name")
@pass_opened
def add_contact(op: Operator, name: str) -> None:
    """Print the id of a new contact."""
    click.echo(op.service.create_contact(op.domain, name).contact_id)


@contact.command("list")
@click.option("--after", help="The cursor that the page before gave.")
@pass_opened
def list_contacts(op: Operator, after: str | None) -> None:
    """By name."""
    page, took = metered(op.service.db, lambda: op.service.contacts_of_domain(op.domain, limit=100, after=after))
    print_contacts(page.items)
    print_more(page.cursor)
    print_cost(took.cost)


@contact.command("show")
@click.argument("contact_id")
@click.option("--json", "as_json", is_flag=True)
@click.option("--alone", is_flag=True, help="Without the methods.")
@pass_opened
def show_contact(op: Operator, contact_id: str, as_json: bool, alone: bool) -> None:
    """A contact with its methods."""
    if alone:
        only, took = metered(op.service.db, lambda: op.service.contact_by_id(op.domain, contact_id))
        print_contacts([only])
        return print_cost(took.cost)
    found, took = metered(op.service.db, lambda: op.service.contact_with_methods(op.domain, contact_id))
    if as_json:
        return print_json(contact_json(found))
    print_contact(found)
    return print_cost(took.cost)


@contact.command("rename")
@click.argument("contact_id")
@click.argument("name")
@pass_opened
def rename_contact(op: Operator, contact_id: str, name: str) -> None:
    """Searches that are open keep the name they began with."""
    op.service.rename_contact(op.domain, contact_id, name)


@contact.command("quiet")
@click.argument("contact_id")
@click.argument("hours", metavar="FROM TO", nargs=-1)
@click.option("--zone", default="UTC", show_default=True, help="As in Europe/Berlin.")
@pass_opened
def quiet(op: Operator, contact_id: str, hours: tuple[str, ...], zone: str) -> None:
    """What is not urgent waits from FROM until TO, as in 22:00 07:00; without them there are no quiet hours."""
    if len(hours) not in (0, 2):
        raise Invalid("say both times, as in 22:00 07:00, or none")
    op.service.set_quiet_hours(op.domain, contact_id, QuietHours(hours[0], hours[1], zone) if hours else None)


@contact.command("delete")
@click.argument("contact_id")
@pass_opened
def delete_contact(op: Operator, contact_id: str) -> None:
    """With its methods; searches that are open go on."""
    op.service.delete_contact(op.domain, contact_id)


@contact.command("erase")
@click.argument("contact_id")
@click.option("--yes", is_flag=True, help="Don't ask.")
@pass_opened
def erase_contact(op: Operator, contact_id: str, yes: bool) -> None:
    """With all searches for them, for good; prints the receipt, which doesn't name them."""
    if not yes:
        click.confirm("Delete the contact and every search for them?", abort=True, err=True)
    print_json(msgspec.to_builtins(op.service.erase_contact(op.domain, contact_id, by="operator")))


# --- methods ----------------------------------------------------------------------------------------------------------
@click.group()
def method() -> None:
    """The ways to reach a contact."""


@method.command("add")
@click.argument("contact_id")
@click.argument("kind", type=click.Choice([kind.value for kind in Kind]))
@click.argument("destination")
@click.option("--order", type=int, default=0, show_default=True, help="The lowest is tried first.")
@click.option(
    "--wait", "wait_seconds", type=SECONDS, default=0, show_default=True, help="Seconds since the one before."
)
@click.option("--disabled", is_flag=True)
@pass_opened
def add_method(
    op: Operator, contact_id: str, kind: str, destination: str, order: int, wait_seconds: int, disabled: bool
) -> None:
    """Print the id of a new method."""
    made = op.service.add_method(
        op.domain,
        contact_id,
        Kind(kind),
        destination,
        order=order,
        wait_seconds=wait_seconds,
        enabled=not disabled,
    )
    click.echo(made.method_id)


@method.command("change")
@click.argument("contact_id")
@click.argument("method_id")
@click.option("--to", "destination")
@click.option("--order", type=int)
@click.option("--wait", "wait_seconds", type=SECONDS)
@click.option("--enable/--disable", "enabled", default=None)
@pass_opened
def change_method(
    op: Operator,
    contact_id: str,
    method_id: str,
    destination: str | None,
    order: int | None,
    wait_seconds: int | None,
    enabled: bool | None,
) -> None:
    """Searches that are open keep their plan."""
    op.service.change_method(
        op.domain,
        contact_id,
        method_id,
        destination=destination,
        order=order,
        wait_seconds=wait_seconds,
        enabled=enabled,
    )


@method.command("delete")
@click.argument("contact_id")
@click.argument("method_id")
@pass_opened
def delete_method(op: Operator, contact_id: str, method_id: str) -> None:
    """Searches that are open keep their plan."""
    op.service.delete_method(op.domain, contact_id, method_id)


# --- searches ---------------------------------------------------------------------------------------------------------
@click.group()
def search() -> None:
    """The searches for a contact."""


@search.command("open")
@click.argument("contact_id")
@click.option("--message", default=DEFAULT_MESSAGE, show_default=True, help="$name stands for a value of --meta.")
@click.option("--meta", "pairs", metavar="NAME=TEXT", multiple=True)
@click.option("--answer-seconds", type=SECONDS, default=ANSWER_SECONDS, show_default=True)
@click.option("--urgent/--not-urgent", default=True, help="What is not urgent waits for the end of quiet hours.")
@pass_opened
def open_search(
    op: Operator, contact_id: str, message: str, pairs: tuple[str, ...], answer_seconds: int, urgent: bool
) -> None:
    """Begin to look for a contact; print the search's id."""
    if any("=" not in pair for pair in pairs):
        raise Invalid("--meta is NAME=TEXT")
    metadata = {name: text for name, _, text in (pair.partition("=") for pair in pairs)}
    opened = op.service.open_search(
        op.domain, contact_id, metadata, message=message, answer_seconds=answer_seconds, urgent=urgent
    )
    click.echo(opened.search_id)
    if opened.resolution is not None:
        click.echo(f"{opened.status.value}: {opened.resolution.how}", err=True)


@search.command("list")
@click.argument("contact_id")
@click.option("--status", type=click.Choice([status.value for status in Status]))
@since_until
@click.option("--after", help="The cursor that the page before gave.")
@pass_opened
def list_searches(op: Operator, contact_id: str, status: str | None, window: Window, after: str | None) -> None:
    """The newest first: all or of a status, at any time or between two moments."""
    page, took = metered(
        op.service.db,
        lambda: op.service.some_searches(
            op.domain,
            contact_id,
            Status(status) if status is not None else None,
            window=window,
            newest_first=True,
            limit=100,
            after=after,
        ),
    )
    print_searches(page.items)
    print_more(page.cursor)
    print_cost(took.cost)


@search.command("show")
@click.argument("search_id")
@click.option("--json", "as_json", is_flag=True)
@click.option("--alone", is_flag=True, help="Without its attempts.")
@pass_opened
def show_search(op: Operator, search_id: str, as_json: bool, alone: bool) -> None:
    """A search with its attempts."""
    if alone:
        only, took = metered(op.service.db, lambda: op.service.search_by_id(op.domain, search_id))
        print_searches([only])
        return print_cost(took.cost)
    found, took = metered(op.service.db, lambda: op.service.search_with_attempts(op.domain, search_id))
    if as_json:
        return print_json(search_json(found))
    print_search(search_view(found))
    return print_cost(took.cost)


@search.command("cancel")
@click.argument("search_id")
@click.option("--by", required=True, help="Who calls it off.")
@click.option("--reason", default="")
@pass_opened
def cancel_search(op: Operator, search_id: str, by: str, reason: str) -> None:
    """End a search that is not needed any more."""
    op.service.cancel(op.domain, search_id, by=by, reason=reason)


groups: tuple[click.Group, ...] = (contact, method, search)
