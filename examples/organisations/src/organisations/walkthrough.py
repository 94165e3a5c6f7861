"""A walk through the application: every action once, on a real database, with what each took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from examples_shared.tour import Call, Step, steps
from organisations.errors import LastOwner
from organisations.github_file import read
from organisations.groups import OWNERS, Group
from organisations.import_github import import_file
from organisations.model import organisations
from organisations.permissions import Decision
from organisations.sample import SAMPLE, SAMPLE_ID
from organisations.service import Service
from singletable import Database


def walkthrough(db: Database, clock: Callable[[], float] = time.perf_counter) -> Iterator[Step]:
    """Runs every action, in an order that makes sense, and gives a step for each when it is done.

    Makes the table where it is not there. What it writes stays: the organisation `harbour`, another under a random id,
    and their users, at example.org. It may be run again on the same table.
    """
    db.create_table(organisations)
    app = Service(db)
    yield from steps(db, (Call(*each) for each in _actions(app)), clock)


Action = tuple[str, str, Callable[[], object]]


def _actions(app: Service) -> Iterator[Action]:
    yield "import", "a GitHub organisation file", lambda: _import(app)
    yield "organisation details", "one query", lambda: _shown(app, SAMPLE_ID)
    for name in ("ada", "grace", "linus"):
        yield "put a user", "registers", partial(_register, app, name)
    yield "get a user", "", lambda: app.get_user("ada@example.org")
    created: list[str] = []
    yield "create an organisation", "one transaction", lambda: created.append(_create(app))
    (id,) = created
    yield from _inviting(app, id)
    yield from _grouping(app, id)
    yield from _asking(app, id)
    yield from _copying(app, id)
    yield from _leaving(app, id)


def _inviting(app: Service, id: str) -> Iterator[Action]:
    owner = "ada@example.org"
    groups = [Group("crew"), Group("pilot", "radio")]
    yield "put a service", "", lambda: app.put_service(id, "radio", "Radio", by=owner)
    yield "invite", "two groups wait", lambda: app.invite(id, "grace@example.org", groups, by=owner)
    yield "invite", "nobody has registered there", lambda: app.invite(id, "nobody.yet@example.org", by=owner)
    yield "user details", "one query", lambda: _invitations(app, "grace@example.org")
    yield "accept", "the groups count from now on", lambda: app.accept(id, "grace@example.org")
    yield "invite", "a member: only adds groups", lambda: app.invite(id, "grace@example.org", [Group("a/b")], by=owner)
    yield "invite", "", lambda: app.invite(id, "linus@example.org", by=owner)
    yield "decline", "both sides go", lambda: app.decline(id, "linus@example.org")


def _grouping(app: Service, id: str) -> Iterator[Action]:
    email, groups = "grace@example.org", [Group("deck"), Group("listener", "radio")]
    yield (
        "add to groups",
        "by an owner, nothing read",
        lambda: app.add_to_groups(id, email, groups, by="ada@example.org"),
    )
    yield "add to groups", "by the operator", lambda: app.add_to_groups(id, email, [Group("crew")])
    yield (
        "remove from groups",
        "by the operator",
        lambda: app.remove_from_groups(id, email, [Group("deck")]),
    )
    yield "organisation details", "one query", lambda: _shown(app, id)
    yield "get an organisation", "by a member, access checked", lambda: app.get_organisation(id, by=email)


def _asking(app: Service, id: str) -> Iterator[Action]:
    email = "grace@example.org"
    yield "may", "one record decides", lambda: _answer(app.may(email, id, service="radio", group="pilot"))
    yield "may", "in any group of the service", lambda: _answer(app.may("linus@example.org", id, service="radio"))
    yield "explain", "by which groups, given by whom", lambda: _grants(app.explain(email, id, service="radio"))
    yield "who may", "a page of the service's people", lambda: f"{len(app.who_may(id, service='radio'))} in groups"
    yield "what may I reach", "all organisations, one query", lambda: f"{len(app.reach(email))} organisations"
    yield "open invitations", "from the index", lambda: f"{len(app.open_invitations(id))} open"


def _copying(app: Service, id: str) -> Iterator[Action]:
    group = Group("crew")
    yield "put a user", "with the copies", lambda: app.put_user("grace@example.org", first_name="Grace", phone="1")
    yield "put an organisation", "its name, with the copies", lambda: app.put_organisation(id, "Coast")
    yield "refresh a user", "names as they are now", lambda: app.refresh_user("grace@example.org")
    yield "refresh an organisation", "details as they are now", lambda: app.refresh_organisation(id)
    yield (
        "message a group",
        "details refreshed first",
        lambda: f"{app.recipients(id, group, lambda one: None)} people",
    )


def _leaving(app: Service, id: str) -> Iterator[Action]:
    yield "delete a service", "its groups go from all members", lambda: app.delete_service(id, "radio")
    yield "remove the last owner", "refused", lambda: _last_owner(app, id)
    yield "add to groups", "another owner", lambda: app.add_to_groups(id, "grace@example.org", [OWNERS])
    yield "remove a user", "both sides", lambda: app.remove_user(id, "ada@example.org", by="grace@example.org")
    yield "delete an organisation", "hidden at once, the rest is a task", lambda: _delete(app, id)


def _import(app: Service) -> str:
    file = read(SAMPLE, SAMPLE_ID)
    import_file(app.db, file, app.now(), lambda done, total: None)
    return f"{len(file.spellings)} people, {file.group_count} groups, {len(file.services)} services"


def _register(app: Service, name: str) -> None:
    app.put_user(f"{name}@example.org", first_name=name.title())


def _create(app: Service) -> str:
    return app.create_organisation("Shore", owner="ada@example.org").organisation_id


def _shown(app: Service, organisation_id: str) -> str:
    found = app.organisation_details(organisation_id)
    return f"{len(found.members)} members, {len(found.groups)} groups, {len(found.services)} services"


def _answer(is_allowed: bool) -> str:
    return "yes" if is_allowed else "no"


def _grants(decision: Decision) -> str:
    return ", ".join(f"{grant.group.name} by {grant.by}" for grant in decision.grants)


def _delete(app: Service, organisation_id: str) -> None:
    app.delete_organisation(organisation_id, by="grace@example.org")


def _invitations(app: Service, email: str) -> str:
    found = app.user_details(email)
    return f"{len(found.organisations)} organisations, {len(found.invitations)} invitations"


def _last_owner(app: Service, organisation_id: str) -> None:
    with suppress(LastOwner):
        app.remove_user(organisation_id, "ada@example.org")
        raise AssertionError("an organisation keeps at least one owner")
