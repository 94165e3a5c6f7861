"""Copies of users' details and organisations' names: right after a write, put right on read, or by changes."""

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
    user_side,
)
from examples_shared.testing.sampling import sampled
from organisations.changes import changes_of
from organisations.copies import MAX_COPIES, member_of
from organisations.errors import NoSuchOrganisation, NotAllowed
from organisations.groups import OWNERS, Group
from organisations.jobs import Later
from organisations.mail import Post
from organisations.members import group_member
from organisations.model import Organisation, OrganisationMember, User, UserOrganisation
from organisations.service import Service
from organisations.views import Person
from organisations.worker import drain
from singletable import attr
from singletable.streams import ChangeWorker


def first_name(app: Service, org: str, email: str) -> str | None:
    found = member(app, org, email)
    return found.first_name if found is not None else None


def test_a_users_details_change_with_every_copy(app: Service, org: str) -> None:
    other = app.create_organisation("Other", owner=MEMBER).organisation_id
    app.put_user("Grace@Example.org", first_name="G", last_name="H", phone="3")
    for id in (org, other):
        found = member(app, id, MEMBER)
        assert found is not None
        assert (found.first_name, found.last_name, found.phone, found.shown_as) == ("G", "H", "3", "Grace@Example.org")


def test_an_organisations_name_changes_with_every_copy(app: Service, org: str) -> None:
    with app.db.meter() as meter:
        app.put_organisation(org, "New", by=OWNER)
    assert (meter.requests, meter.read_units, meter.write_units) == (2, 1.0, 9.0)
    for email in (OWNER, MEMBER, INVITED):
        found = user_side(app, org, email)
        assert found is not None
        assert found.organisation_name == "New"


def test_an_invited_person_gets_no_copy_before_accepting(app: Service, org: str) -> None:
    app.put_user(INVITED, first_name="L", phone="4")
    found = member(app, org, INVITED)
    assert found is not None
    assert (found.first_name, found.phone, found.created_at) == ("", "", None)


@pytest.mark.parametrize("at", [0, 1])
def test_stopped_in_the_middle_all_copies_are_old(app: Service, org: str, at: int) -> None:
    before = raw_items(app.db)
    with pytest.raises(Stopped):
        stopping(app, at).put_user(MEMBER, first_name="G")
    with pytest.raises(Stopped):
        stopping(app, at).put_organisation(org, "New")
    assert raw_items(app.db) == before


# --- up to 99, and no more --------------------------------------------------------------------------------------------
def fill(app: Service, org: str, total: int) -> None:
    """Members until there are so many, ada, grace and linus among them."""
    people = [User(email=f"p{n}@example.org", created_at=app.now()) for n in range(total - 3)]
    members = [member_of(org, user, set[str](), user.created_at) for user in people]
    sides = [
        UserOrganisation(
            email=u.email, organisation_id=org, organisation_name="Acme", invited_at=app.now(), accepted_at=app.now()
        )
        for u in people
    ]
    app.db.write_many(puts=[*people, *members, *sides])


def test_99_copies_change_in_one_transaction(app: Service, org: str) -> None:
    fill(app, org, MAX_COPIES)
    with app.db.meter() as meter:
        app.put_organisation(org, "New")
    assert meter.by_operation["TransactWriteItems"].requests == 1
    assert meter.write_units == 201.0


def test_more_follow_by_a_task_that_says_how_far_it_is(app: Service, org: str) -> None:
    fill(app, org, MAX_COPIES + 1)
    with app.db.meter() as meter:
        renamed = app.put_organisation(org, "New", by=OWNER)
    assert renamed.job is not None
    assert (renamed.job.done, renamed.job.total, renamed.job.is_done) == (0, 100, False)
    assert meter.write_units == 7.0
    assert [m.organisation_name for m in app.refresh_user("p7@example.org").organisations] == ["New"]
    drain(app.db, Post(lambda mail: None))
    found = app.job(renamed.job.job_id, by=OWNER)
    assert (found.done, found.is_done) == (100, True)
    assert {side.organisation_name for side in app.db.scan(UserOrganisation)} == {"New"}


@pytest.mark.parametrize("at", sampled(range(1, 8), 4))
def test_a_task_that_is_stopped_anywhere_goes_on_where_it_was(app: Service, org: str, at: int) -> None:
    fill(app, org, 250)
    renamed = app.put_organisation(org, "New")
    assert renamed.job is not None
    worker = Later(stopping(app, at * 25).db, Post(lambda mail: None), app.now)
    with pytest.raises(Stopped):
        worker.rename.function(renamed.job.job_id)
    drain(app.db, Post(lambda mail: None))
    assert {side.organisation_name for side in app.db.scan(UserOrganisation)} == {"New"}
    assert app.job(renamed.job.job_id).done == 250


def test_a_user_of_too_many_organisations_is_written_alone_and_the_stream_copies(app: Service) -> None:
    user = app.get_user(STRANGER)
    for number in range(MAX_COPIES + 1):
        id, now = f"o{number}", app.now()
        side = UserOrganisation(
            email=STRANGER, organisation_id=id, organisation_name=id, invited_at=now, accepted_at=now
        )
        owned = Organisation(organisation_id=id, organisation_name=id, owners={STRANGER})
        group = group_member(id, STRANGER, OWNERS, None, now)
        app.db.write_many(puts=[side, member_of(id, user, {OWNERS.text}, now), group])
        app.db.put(owned)
    with app.db.meter() as meter:
        app.put_user(STRANGER, first_name="B")
    assert meter.write_units == 1.0
    drain(app.db, Post(lambda mail: None))
    assert {m.first_name for m in app.db.scan(OrganisationMember)} == {"B"}


# --- a copy begun while its source changes ----------------------------------------------------------------------------
def test_accepting_while_the_details_change(app: Service, org: str) -> None:
    overtaken(app, 1, lambda: app.put_user(INVITED, first_name="L")).accept(org, INVITED)
    assert first_name(app, org, INVITED) == "L"


def test_changing_the_details_while_accepting(app: Service, org: str) -> None:
    overtaken(app, 1, lambda: app.accept(org, INVITED)).put_user(INVITED, first_name="L")
    assert first_name(app, org, INVITED) == "L"


def test_changing_the_details_of_a_member_while_they_join_another_organisation(app: Service, org: str) -> None:
    other = app.create_organisation("Other", owner=OWNER).organisation_id
    app.invite(other, MEMBER)
    overtaken(app, 1, lambda: app.accept(other, MEMBER)).put_user(MEMBER, first_name="G")
    assert (first_name(app, org, MEMBER), first_name(app, other, MEMBER)) == ("G", "G")


def test_changing_the_details_while_creating_an_organisation(app: Service) -> None:
    made: list[Organisation] = []
    late = overtaken(app, 1, lambda: made.append(app.create_organisation("Other", owner=OWNER)))
    late.put_user(OWNER, first_name="Augusta")
    assert first_name(app, made[0].organisation_id, OWNER) == "Augusta"


def test_changing_the_details_while_being_removed(app: Service, org: str) -> None:
    overtaken(app, 1, lambda: app.remove_user(org, MEMBER)).put_user(MEMBER, first_name="G")
    assert app.get_user(MEMBER).first_name == "G"
    assert member(app, org, MEMBER) is None


def test_inviting_while_the_name_changes(app: Service, org: str) -> None:
    overtaken(app, 1, lambda: app.put_organisation(org, "New")).invite(org, STRANGER)
    assert [m.organisation_name for m in app.user_details(STRANGER).invitations] == ["New"]


def test_changing_the_name_while_inviting(app: Service, org: str) -> None:
    overtaken(app, 1, lambda: app.invite(org, STRANGER)).put_organisation(org, "New")
    assert [m.organisation_name for m in app.user_details(STRANGER).invitations] == ["New"]


def test_changing_the_name_while_somebody_declines(app: Service, org: str) -> None:
    overtaken(app, 1, lambda: app.decline(org, INVITED)).put_organisation(org, "New")
    assert app.get_organisation(org).organisation_name == "New"
    assert user_side(app, org, INVITED) is None


# --- on read ----------------------------------------------------------------------------------------------------------
def make_stale(app: Service, org: str) -> None:
    """Sources changed without their copies, as a table's stream would find them."""
    app.db.update(User.by_email(MEMBER), attr(User.phone).set("5"), attr(User.first_name).set("G"))
    app.db.update(Organisation.by_id(org), attr(Organisation.organisation_name).set("New"))


def test_refresh_brings_members_up_to_date(app: Service, org: str) -> None:
    make_stale(app, org)
    with app.db.meter() as meter:
        seen = app.refresh_organisation(org, by=OWNER)
    assert [(p.first_name, p.phone) for p in seen.members if p.email == MEMBER] == [("G", "5")]
    assert (meter.requests, meter.read_units, meter.write_units) == (3, 3.0, 2.0)
    app.refresh_user(OWNER), app.refresh_user(MEMBER), app.refresh_user(INVITED)
    assert first_name(app, org, MEMBER) == "G"


def test_refresh_brings_organisations_names_up_to_date(app: Service, org: str) -> None:
    make_stale(app, org)
    with app.db.meter() as meter:
        assert [m.organisation_name for m in app.refresh_user(INVITED).invitations] == ["New"]
    assert (meter.requests, meter.write_units) == (3, 2.0)
    assert [m.organisation_name for m in app.refresh_user(MEMBER).organisations] == ["New"]
    app.refresh_user(OWNER)
    app.refresh_organisation(org)


def test_refresh_writes_nothing_where_all_is_right(app: Service, org: str) -> None:
    with app.db.meter() as meter:
        app.refresh_organisation(org)
        app.refresh_user(MEMBER)
    assert (meter.requests, meter.write_units) == (4, 0.0)


def test_refresh_never_overwrites_what_changed_after_it_looked(app: Service, org: str) -> None:
    make_stale(app, org)
    app.refresh_user(OWNER), app.refresh_user(MEMBER), app.refresh_user(INVITED)
    late = overtaken(app, 2, lambda: app.put_user(MEMBER, first_name="Newest", phone="6"))
    seen = late.refresh_organisation(org)
    assert first_name(app, org, MEMBER) == "Newest"
    assert [p.first_name for p in seen.members if p.email == MEMBER] == ["Newest"]


def test_refresh_makes_no_member_of_somebody_who_left_meanwhile(app: Service, org: str) -> None:
    make_stale(app, org)
    overtaken(app, 2, lambda: app.remove_user(org, MEMBER)).refresh_organisation(org)
    assert member(app, org, MEMBER) is None
    app.refresh_user(OWNER), app.refresh_user(INVITED)


def test_a_message_goes_to_the_details_of_this_moment(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("crew")])
    app.invite(org, INVITED, [Group("crew")])
    make_stale(app, org)
    sent: list[Person] = []
    assert app.recipients(org, Group("crew"), sent.append) == 1
    assert [(p.email, p.first_name, p.phone) for p in sent] == [(MEMBER, "G", "5")]
    assert first_name(app, org, MEMBER) == "G"
    app.refresh_user(OWNER), app.refresh_user(MEMBER), app.refresh_user(INVITED)


def test_members_whose_user_is_gone_keep_what_is_known(app: Service, org: str) -> None:
    app.db.delete(User.by_email(MEMBER))
    seen = app.refresh_organisation(org)
    assert [p.first_name for p in seen.members] == ["Ada", "Grace"]
    kept = app.db.get(OrganisationMember.of_organisation(org, MEMBER).consistent())
    assert kept is not None


# --- by changes -------------------------------------------------------------------------------------------------------
def test_a_new_name_follows_to_any_number_of_copies(app: Service, org: str) -> None:
    fill(app, org, MAX_COPIES + 1)
    with app.db.meter() as meter:
        app.rename_organisation(org, "New", by=OWNER)
    assert (meter.requests, meter.write_units) == (1, 1.0)
    ChangeWorker(app.db, changes_of(app.db)).drain()
    names = [found.organisation_name for found in app.db.scan(UserOrganisation)]
    assert names == ["New"] * (MAX_COPIES + 1)
    assert ChangeWorker(app.db, changes_of(app.db)).check() == []


def test_who_is_invited_under_an_old_name_gets_the_new_one(app: Service, org: str) -> None:
    overtaken(app, 1, lambda: app.rename_organisation(org, "New")).invite(org, STRANGER)
    ChangeWorker(app.db, changes_of(app.db)).drain()
    assert {found.organisation_name for found in app.db.scan(UserOrganisation)} == {"New"}


def test_both_ways_together_end_with_the_last_name(app: Service, org: str) -> None:
    app.rename_organisation(org, "Later")
    app.put_organisation(org, "At once")
    ChangeWorker(app.db, changes_of(app.db)).drain()
    assert {found.organisation_name for found in app.db.scan(UserOrganisation)} == {"At once"}


def test_only_an_owner_renames(app: Service, org: str) -> None:
    with pytest.raises(NotAllowed):
        app.rename_organisation(org, "New", by=MEMBER)
    with pytest.raises(NoSuchOrganisation):
        app.rename_organisation(org, "New", by=STRANGER)
    with pytest.raises(NoSuchOrganisation):
        app.rename_organisation("nowhere", "New")
