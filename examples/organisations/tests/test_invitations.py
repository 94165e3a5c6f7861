from __future__ import annotations

from collections.abc import Callable

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
    user_side,
)
from organisations.errors import (
    AlreadyAccepted,
    NoOpenInvitation,
    NoSuchOrganisation,
    NoSuchService,
    NotAllowed,
    NotRegistered,
)
from organisations.groups import OWNERS, Group
from organisations.service import Service

CREW, PILOTS = Group("crew"), Group("pilots", "api")


def groups(app: Service, org: str, email: str) -> set[str]:
    found = member(app, org, email)
    return set() if found is None else found.groups


def test_accepting_brings_the_groups_that_waited(app: Service, org: str) -> None:
    app.invite(org, STRANGER, [CREW, PILOTS], by=OWNER)
    app.accept(org, STRANGER)
    seen = app.organisation_details(org)
    assert [p.email for p in seen.groups["crew"]] == [STRANGER]
    assert [p.email for p in seen.services["api"].groups["pilots"]] == [STRANGER]
    assert [m.organisation_id for m in app.user_details(STRANGER).organisations] == [org]
    both = member(app, org, STRANGER), user_side(app, org, STRANGER)
    assert all(side is not None and side.accepted_at is not None for side in both)


def test_inviting_again_adds_to_the_groups_that_wait(app: Service, org: str) -> None:
    app.invite(org, INVITED, [CREW])
    before = raw_items(app.db)
    app.invite(org, INVITED, [PILOTS], by=OWNER)
    after = raw_items(app.db)
    place = (f"organisation/{org}", f"organisationMember/{INVITED}")
    assert sorted(after[place].pop("waiting")["SS"]) == ["organisationGroup/crew", "serviceGroup/api/pilots"]
    assert before[place].pop("waiting")["SS"] == ["organisationGroup/crew"]
    assert after[place].pop("changedBy") == {"S": OWNER}
    assert before == after


def test_inviting_again_with_no_groups_changes_nothing(app: Service, org: str) -> None:
    before = raw_items(app.db)
    app.invite(org, INVITED)
    app.invite(org, MEMBER)
    assert raw_items(app.db) == before


def test_an_address_that_registers_later_accepts_then(app: Service, org: str) -> None:
    app.invite(org, "New@Example.org", [CREW])
    with pytest.raises(NotRegistered):
        app.accept(org, "new@example.org")
    app.put_user("new@example.org", first_name="Neu")
    app.accept(org, "NEW@example.org")
    assert [p.first_name for p in app.organisation_details(org).groups["crew"]] == ["Neu"]


def test_declining_leaves_the_way_for_another_invitation(app: Service, org: str) -> None:
    app.invite(org, INVITED, [CREW])
    app.decline(org, INVITED)
    app.invite(org, INVITED, [PILOTS])
    app.accept(org, INVITED)
    assert groups(app, org, INVITED) == {PILOTS.text}


@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_only_an_open_invitation_is_answered(app: Service, org: str, answer: str) -> None:
    act: Callable[[str, str], None] = getattr(app, answer)
    with pytest.raises(NoOpenInvitation):
        act(org, STRANGER)
    with pytest.raises(NoOpenInvitation):
        act("nowhere", INVITED)
    with pytest.raises(AlreadyAccepted):
        act(org, MEMBER)
    app.decline(org, INVITED)
    with pytest.raises(NoOpenInvitation):
        act(org, INVITED)


def test_an_invitation_is_withdrawn_like_a_member_is_removed(app: Service, org: str) -> None:
    app.remove_user(org, INVITED, by=OWNER)
    with pytest.raises(NoOpenInvitation):
        app.accept(org, INVITED)


def test_an_invited_owner_is_one_from_accepting_on(app: Service, org: str) -> None:
    app.invite(org, INVITED, [OWNERS], by=OWNER)
    with pytest.raises(NoSuchOrganisation):
        app.invite(org, STRANGER, by=INVITED)
    app.accept(org, INVITED)
    app.invite(org, STRANGER, by=INVITED)
    app.remove_user(org, OWNER, by=INVITED)


def test_who_may_invite(app: Service, org: str) -> None:
    before = raw_items(app.db)
    with pytest.raises(NotAllowed):
        app.invite(org, STRANGER, by=MEMBER)
    for outside in (INVITED, STRANGER):
        with pytest.raises(NoSuchOrganisation):
            app.invite(org, "new@example.org", by=outside)
    with pytest.raises(NoSuchOrganisation):
        app.invite("nowhere", STRANGER)
    with pytest.raises(NoSuchService, match="'nope'"):
        app.invite(org, STRANGER, [Group("x", "nope")])
    with pytest.raises(NoSuchService):
        app.invite(org, INVITED, [Group("x", "nope")])
    assert raw_items(app.db) == before


@pytest.mark.parametrize(
    ("email", "by", "read", "write"),
    [
        (STRANGER, None, 2.0, 10.0),
        (STRANGER, OWNER, 3.0, 10.0),
        (INVITED, OWNER, 3.0, 4.0),
        (MEMBER, None, 2.0, 7.0),
        (MEMBER, OWNER, 3.0, 7.0),
    ],
)
def test_what_inviting_costs(app: Service, org: str, email: str, by: str | None, read: float, write: float) -> None:
    with app.db.meter() as meter:
        app.invite(org, email, [CREW], by=by)
    assert (meter.requests, meter.read_units, meter.write_units) == (2, read, write)


def test_what_answers_cost(app: Service, org: str) -> None:
    app.invite(org, STRANGER)
    with app.db.meter() as accepting:
        app.accept(org, INVITED)
    with app.db.meter() as declining:
        app.decline(org, STRANGER)
    assert (accepting.requests, accepting.read_units, accepting.write_units) == (2, 3.0, 10.0)
    assert (declining.requests, declining.read_units, declining.write_units) == (1, 0.0, 7.0)


# --- somebody else comes in between -----------------------------------------------------------------------------------
def test_a_group_offered_while_accepting_is_not_lost(app: Service, org: str) -> None:
    late = overtaken(app, 1, lambda: app.invite(org, INVITED, [CREW]))
    late.accept(org, INVITED)
    assert groups(app, org, INVITED) == {CREW.text}


def test_an_invitation_withdrawn_while_accepting_is_not_accepted(app: Service, org: str) -> None:
    late = overtaken(app, 1, lambda: app.remove_user(org, INVITED))
    with pytest.raises(NoOpenInvitation):
        late.accept(org, INVITED)
    assert member(app, org, INVITED) is None


def test_an_invitation_declined_while_inviting_again_is_made_anew(app: Service, org: str) -> None:
    late = overtaken(app, 1, lambda: app.decline(org, INVITED))
    late.invite(org, INVITED, [CREW])
    app.accept(org, INVITED)
    assert groups(app, org, INVITED) == {CREW.text}


def test_an_invitation_accepted_while_inviting_again_gets_the_groups(app: Service, org: str) -> None:
    late = overtaken(app, 1, lambda: app.accept(org, INVITED))
    late.invite(org, INVITED, [CREW], by=OWNER)
    assert groups(app, org, INVITED) == {CREW.text}


def test_two_invitations_at_the_same_time_are_one(app: Service, org: str) -> None:
    late = overtaken(app, 1, lambda: app.invite(org, STRANGER, [CREW]))
    late.invite(org, STRANGER, [PILOTS])
    app.accept(org, STRANGER)
    assert groups(app, org, STRANGER) == {CREW.text, PILOTS.text}


def test_an_owner_who_is_removed_while_inviting_invites_nobody(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [OWNERS])
    late = overtaken(app, 1, lambda: app.remove_user(org, OWNER, by=MEMBER))
    with pytest.raises(NoSuchOrganisation):
        late.invite(org, STRANGER, by=OWNER)
    assert member(app, org, STRANGER) is None


@pytest.mark.parametrize("at", [0, 1])
def test_stopped_in_the_middle_nothing_has_happened(app: Service, org: str, at: int) -> None:
    before = raw_items(app.db)
    with pytest.raises(Stopped):
        stopping(app, at).invite(org, STRANGER, [CREW])
    with pytest.raises(Stopped):
        stopping(app, at).accept(org, INVITED)
    assert raw_items(app.db) == before
