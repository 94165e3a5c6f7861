"""The erasure of a user: nothing of them is left in the table, and everybody else's is as it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from examples.organisations.tests.support import INVITED, MEMBER, OWNER
from organisations.errors import LastOwner, NoSuchUser
from organisations.groups import OWNERS, Group
from organisations.jobs import LATER
from organisations.mail import Post
from organisations.model import Organisation, OrganisationMember, TrailEntry, organisations, tasks
from organisations.service import Service
from organisations.worker import drain
from singletable.erasure import Erasure
from tests.support.raw import all_items


def everything(app: Service) -> str:
    items = app.db.run(all_items(app.db.port, "organisations"))
    return repr([item for item in items if item["id"]["S"] != "_migration"])


def test_a_member_who_did_things(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [OWNERS, Group("editor", "api")], by=OWNER)
    app.invite(org, "new@example.org", by=MEMBER)
    app.put_service(org, "web", "The site", by=MEMBER)
    with app.db.transaction() as tx:
        tx.add(tasks.after(timedelta(days=1), LATER.message_mail("job", MEMBER)))
    drain(app.db, Post(lambda mail: None))
    before = app.get_user(OWNER)
    plan = app.plan_erasure(MEMBER)
    assert plan.deleted == {"GroupMember": 2, "OrganisationMember": 1, "User": 1, "UserOrganisation": 1, "task": 1}
    sides = {"OrganisationMember", "UserOrganisation"}
    assert set(plan.cleared) == {"Organisation", "OrganisationService", "TrailEntry", *sides}
    receipt = app.erase_user(MEMBER, by="operator")
    assert (receipt.deleted, receipt.cleared, receipt.kept) == (plan.deleted, plan.cleared, ())
    assert MEMBER not in everything(app)
    assert app.db.check(organisations, tasks) == []
    assert app.get_user(OWNER) == before
    trail = app.db.all(TrailEntry.of_organisation(org))
    assert [entry.by for entry in trail if entry.what == "created a service"][-1:] == [None]
    assert app.db.get(OrganisationMember.of_organisation(org, OWNER)) is not None
    with pytest.raises(NoSuchUser):
        app.erase_user(MEMBER)


def test_the_last_owner_hands_over_first(app: Service, org: str) -> None:
    with pytest.raises(LastOwner):
        app.erase_user(OWNER)
    app.add_to_groups(org, MEMBER, [OWNERS])
    app.erase_user(OWNER)
    found = app.db.get(Organisation.by_id(org))
    assert found is not None
    assert found.owners == {MEMBER}


def test_somebody_who_was_only_invited(app: Service, org: str) -> None:
    app.invite(org, "new@example.org")
    assert app.erase_user("New@example.org").deleted == {"OrganisationMember": 1, "UserOrganisation": 1, "task": 1}
    assert "new@example.org" not in everything(app)
    assert app.user_details(INVITED).invitations


def test_a_tenant_goes_whole(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("editor", "api")])
    found = Erasure(app.db, organisations, tasks).apply(Organisation.by_id(org))
    assert found.deleted["OrganisationMember"] == found.deleted["UserOrganisation"] == 3
    assert app.user_details(MEMBER).organisations == ()
    assert org not in everything(app)


def test_personal_details_are_covered(app: Service, org: str) -> None:
    user = app.put_user(MEMBER, first_name="Grace", phone="+1 555")
    member = app.db.get(OrganisationMember.of_organisation(org, MEMBER))
    for shown in (repr(user), repr(member)):
        assert "grace" not in shown.lower()
        assert "555" not in shown
        assert "‹personal›" in shown
