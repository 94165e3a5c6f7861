from __future__ import annotations

import pytest

from examples.organisations.tests.support import (
    INVITED,
    MEMBER,
    OWNER,
    STRANGER,
    Stopped,
    member,
    overtaken,
    raw_items,
    stopping,
)
from organisations.copies import member_of
from organisations.errors import (
    BeingDeleted,
    NoSuchMember,
    NoSuchOrganisation,
    NoSuchService,
    NotAllowed,
)
from organisations.groups import Group
from organisations.members import group_member
from organisations.model import OrganisationMember, OrganisationService, User, UserOrganisation
from organisations.service import Service

PILOTS = Group("pilots", "api")


@pytest.fixture
def used(app: Service, org: str) -> str:
    """The organisation with people in groups of `api`, one invited to one, and another service whose id begins so."""
    app.put_service(org, "api-2", "Another")
    app.add_to_groups(org, MEMBER, [PILOTS, Group("more", "api"), Group("pilots", "api-2"), Group("api")])
    app.add_to_groups(org, OWNER, [PILOTS])
    app.invite(org, INVITED, [PILOTS, Group("crew")])
    return org


def texts(app: Service, org: str) -> set[str]:
    return {t for e in (OWNER, MEMBER, INVITED) if (m := member(app, org, e)) for t in m.groups | m.waiting}


def test_put_makes_it_and_renames_it(app: Service, org: str) -> None:
    app.put_service(org, "web", "Web", by=OWNER)
    app.put_service(org, "web", "The web", by=OWNER)
    assert app.organisation_details(org).services["web"].name == "The web"


def test_putting_again_keeps_the_groups(app: Service, used: str) -> None:
    app.put_service(used, "api", "New name")
    assert sorted(app.organisation_details(used).services["api"].groups) == ["more", "pilots"]


def test_deleting_takes_its_groups_from_everybody(app: Service, used: str) -> None:
    app.delete_service(used, "api", by=OWNER)
    assert list(app.organisation_details(used).services) == ["api-2"]
    left = {"organisationGroup/owner", "organisationGroup/api", "organisationGroup/crew", "serviceGroup/api-2/pilots"}
    assert texts(app, used) == left
    app.accept(used, INVITED)
    assert texts(app, used) == left


def test_what_it_costs(app: Service, used: str) -> None:
    with app.db.meter() as putting:
        app.put_service(used, "web", "Web", by=OWNER)
    with app.db.meter() as deleting:
        app.delete_service(used, "api", by=OWNER)
    assert (putting.requests, putting.read_units, putting.write_units) == (1, 0.0, 4.0)
    assert (deleting.requests, deleting.read_units, deleting.write_units) == (4, 1.0, 23.0)


@pytest.mark.parametrize("at", range(5))
def test_stopped_anywhere_it_is_seen_whole_or_not_at_all_and_finished_later(app: Service, used: str, at: int) -> None:
    whole = app.organisation_details(used)
    if at < 4:
        with pytest.raises(Stopped):
            stopping(app, at).delete_service(used, "api", by=OWNER)
    else:
        stopping(app, at).delete_service(used, "api", by=OWNER)
    seen = app.organisation_details(used)
    if at == 0:
        assert seen == whole
    else:
        assert "api" not in seen.services
    if at < 4:
        app.delete_service(used, "api", by=OWNER)
    assert not any(text.startswith("serviceGroup/api/") for text in texts(app, used))
    with pytest.raises(NoSuchService):
        app.delete_service(used, "api", by=OWNER)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_nobody_gets_into_its_groups_meanwhile(app: Service, used: str, at: int) -> None:
    def others() -> None:
        with pytest.raises(BeingDeleted):
            app.add_to_groups(used, MEMBER, [PILOTS])
        with pytest.raises(BeingDeleted):
            app.invite(used, STRANGER, [PILOTS], by=OWNER)
        with pytest.raises(BeingDeleted):
            app.put_service(used, "api", "Again", by=OWNER)

    overtaken(app, at, others).delete_service(used, "api")
    assert not any(text.startswith("serviceGroup/api/") for text in texts(app, used))


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_invitation_accepted_meanwhile_brings_none_of_its_groups(app: Service, used: str, at: int) -> None:
    overtaken(app, at, lambda: app.accept(used, INVITED)).delete_service(used, "api")
    found = member(app, used, INVITED)
    assert found is not None
    assert found.groups == {"organisationGroup/crew"}


def test_accepting_while_it_is_deleted_brings_none_of_its_groups(app: Service, used: str) -> None:
    overtaken(app, 1, lambda: app.delete_service(used, "api")).accept(used, INVITED)
    found = member(app, used, INVITED)
    assert found is not None
    assert found.groups == {"organisationGroup/crew"}


@pytest.mark.parametrize("at", [1, 2, 3])
def test_members_who_leave_meanwhile_are_in_nobodys_way(app: Service, used: str, at: int) -> None:
    def leave() -> None:
        app.remove_user(used, MEMBER)
        app.decline(used, INVITED)

    overtaken(app, at, leave).delete_service(used, "api")
    with pytest.raises(NoSuchMember):
        app.add_to_groups(used, MEMBER, [Group("crew")])


@pytest.mark.parametrize("at", [1, 2, 3])
def test_two_who_delete_it_at_the_same_time(app: Service, used: str, at: int) -> None:
    overtaken(app, at, lambda: app.delete_service(used, "api")).delete_service(used, "api")
    assert app.db.get(OrganisationService.of_organisation(used, "api").consistent()) is None


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_service_made_anew_meanwhile_keeps_its_groups(app: Service, used: str, at: int) -> None:
    def anew() -> None:
        app.delete_service(used, "api")
        app.put_service(used, "api", "Anew")
        app.add_to_groups(used, MEMBER, [PILOTS])

    overtaken(app, at, anew).delete_service(used, "api")
    seen = app.organisation_details(used).services["api"]
    assert [p.email for p in seen.groups["pilots"]] == [MEMBER]


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_service_made_anew_and_on_its_way_out_again_is_left_to_who_deletes_it(
    app: Service, used: str, at: int
) -> None:
    def again() -> None:
        app.delete_service(used, "api")
        app.put_service(used, "api", "Anew")
        app.add_to_groups(used, MEMBER, [PILOTS])
        with pytest.raises(Stopped):
            stopping(app, 1).delete_service(used, "api")

    overtaken(app, at, again).delete_service(used, "api")
    app.delete_service(used, "api")
    assert not any(text.startswith("serviceGroup/api/") for text in texts(app, used))


def test_many_members_take_a_transaction_for_each_49(app: Service, used: str) -> None:
    people = [User(email=f"p{n}@example.org", created_at=app.now()) for n in range(150)]
    members = [member_of(used, user, {PILOTS.text}, user.created_at) for user in people]
    sides = [
        UserOrganisation(
            email=u.email, organisation_id=used, organisation_name="Acme", invited_at=app.now(), accepted_at=app.now()
        )
        for u in people
    ]
    grants = [group_member(used, u.email, PILOTS, None, u.created_at) for u in people]
    app.db.write_many(puts=[*people, *members, *sides, *grants])
    with app.db.meter() as meter:
        app.delete_service(used, "api")
    assert meter.requests == 7
    assert not any(m.groups for m in app.db.all(OrganisationMember.of_organisation(used)) if m.email.startswith("p"))


def test_who_may(app: Service, used: str) -> None:
    before = raw_items(app.db)
    for caller, error in ((MEMBER, NotAllowed), (INVITED, NoSuchOrganisation), (STRANGER, NoSuchOrganisation)):
        with pytest.raises(error):
            app.put_service(used, "web", "Web", by=caller)
        with pytest.raises(error):
            app.put_service(used, "api", "Other", by=caller)
        with pytest.raises(error):
            app.delete_service(used, "api", by=caller)
    with pytest.raises(NoSuchOrganisation):
        app.put_service("nowhere", "web", "Web")
    with pytest.raises(NoSuchService):
        app.delete_service(used, "nope")
    assert raw_items(app.db) == before
