"""Each fault of the published system, as a test that fails on what it published."""

from __future__ import annotations

import pytest

from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER, member, raw_items, user_side
from organisations.errors import (
    Contended,
    IdTaken,
    Invalid,
    NoOpenInvitation,
    NoSuchMember,
    NoSuchOrganisation,
    NotAccepted,
)
from organisations.groups import Group, parse
from organisations.model import OrganisationMember, UserOrganisation
from organisations.service import Service


def test_decline_deletes_the_invitation_itself(app: Service, org: str) -> None:
    before = raw_items(app.db)
    app.decline(org, INVITED)
    after = raw_items(app.db)
    assert before.keys() - after.keys() == {
        (f"user/{INVITED}", f"userOrganisation/{org}"),
        (f"organisation/{org}", f"organisationMember/{INVITED}"),
    }
    assert app.user_details(INVITED).invitations == ()


def test_create_really_checks_that_it_overwrites_nothing(app: Service) -> None:
    same = Service(app.db, app.now, new_id=lambda: "the-same")
    same.create_organisation("First", owner=OWNER)
    before = raw_items(app.db)
    with pytest.raises(IdTaken):
        same.create_organisation("Second", owner=STRANGER)
    assert raw_items(app.db) == before


def test_accept_makes_no_membership_out_of_nothing(app: Service, org: str) -> None:
    before = raw_items(app.db)
    with pytest.raises(NoOpenInvitation):
        app.accept(org, STRANGER)
    assert raw_items(app.db) == before


def test_accept_makes_no_membership_of_a_declined_invitation(app: Service, org: str) -> None:
    app.decline(org, INVITED)
    before = raw_items(app.db)
    with pytest.raises(NoOpenInvitation):
        app.accept(org, INVITED)
    assert raw_items(app.db) == before


def test_inviting_a_member_again_adds_groups_and_touches_nothing_else(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("crew")])
    before = raw_items(app.db)
    app.invite(org, MEMBER, [Group("deck"), Group("pilots", "api")], by=OWNER)
    after = raw_items(app.db)
    place = (f"organisation/{org}", f"organisationMember/{MEMBER}")
    expected = ["organisationGroup/crew", "organisationGroup/deck", "serviceGroup/api/pilots"]
    assert sorted(after[place]["groups"]["SS"]) == expected
    before[place]["groups"], before[place]["changedBy"] = after[place]["groups"], {"S": OWNER}
    assert {place: item for place, item in after.items() if place in before} == before
    assert {partition for partition, _ in after.keys() - before.keys()} == {
        f"groupsOf/{org}/organisationGroup",
        f"groupsOf/{org}/serviceGroup/api",
    }


def test_an_invited_person_holds_no_groups(app: Service, org: str) -> None:
    app.invite(org, INVITED, [Group("crew"), Group("owner"), Group("pilots", "api")])
    both = raw_items(app.db)
    assert "groups" not in both[f"organisation/{org}", f"organisationMember/{INVITED}"]
    assert "groups" not in both[f"user/{INVITED}", f"userOrganisation/{org}"]
    seen = app.organisation_details(org)
    assert "crew" not in seen.groups
    assert seen.services["api"].groups == {}
    assert [p.email for p in seen.members] == [OWNER, MEMBER]
    assert [p.email for p in seen.groups["owner"]] == [OWNER]
    with pytest.raises(NotAccepted, match="invite again with the groups"):
        app.add_to_groups(org, INVITED, [Group("crew")])


def test_both_sides_of_an_invitation_are_written_or_neither(app: Service, org: str) -> None:
    orphan = UserOrganisation(email=STRANGER, organisation_id=org, organisation_name="Acme", invited_at=app.now())
    app.db.create(orphan)
    before = raw_items(app.db)
    with pytest.raises(Contended):
        app.invite(org, STRANGER, [Group("crew")])
    assert raw_items(app.db) == before
    app.db.delete(UserOrganisation.of_user(STRANGER, org))


def test_removing_a_user_removes_both_sides(app: Service, org: str) -> None:
    app.remove_user(org, MEMBER)
    assert member(app, org, MEMBER) is None
    assert user_side(app, org, MEMBER) is None
    assert app.user_details(MEMBER).organisations == ()


def test_adding_to_groups_makes_no_members(app: Service, org: str) -> None:
    before = raw_items(app.db)
    with pytest.raises(NoSuchMember):
        app.add_to_groups(org, STRANGER, [Group("crew")])
    with pytest.raises(NoSuchOrganisation):
        app.add_to_groups("nowhere", MEMBER, [Group("crew")])
    with pytest.raises(NoSuchOrganisation):
        app.add_to_groups("nowhere", MEMBER, [Group("crew")], by=OWNER)
    assert raw_items(app.db) == before


def test_adding_to_groups_leaves_created_at_alone(app: Service, org: str) -> None:
    before = raw_items(app.db)[f"organisation/{org}", f"organisationMember/{MEMBER}"]
    app.add_to_groups(org, MEMBER, [Group("crew")])
    after = raw_items(app.db)[f"organisation/{org}", f"organisationMember/{MEMBER}"]
    assert after.pop("groups") == {"SS": ["organisationGroup/crew"]}
    assert before == after
    assert after["createdAt"] == raw_items(app.db)[f"user/{MEMBER}", "user"]["createdAt"]


def test_the_sets_reader_stays_inside_the_text() -> None:
    with pytest.raises(Invalid):
        parse("serviceGroup/api")


def test_an_empty_set_never_reaches_dynamodb(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("crew")])
    app.remove_from_groups(org, MEMBER, [Group("crew")])
    left = raw_items(app.db)[f"organisation/{org}", f"organisationMember/{MEMBER}"]
    assert "groups" not in left
    assert "waiting" not in left
    found = member(app, org, MEMBER)
    assert isinstance(found, OrganisationMember)
    assert found.groups == set()
    for change in (app.add_to_groups, app.remove_from_groups):
        with pytest.raises(Invalid, match="at least one group"):
            change(org, MEMBER, [])
