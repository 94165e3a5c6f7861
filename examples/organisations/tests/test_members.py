from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER, member, raw_items
from organisations.errors import (
    ApplicationError,
    LastOwner,
    NoSuchMember,
    NoSuchOrganisation,
    NoSuchService,
    NotAccepted,
    NotAllowed,
)
from organisations.groups import OWNERS, Group
from organisations.model import Organisation
from organisations.service import Service

CREW, PILOTS = Group("crew"), Group("pilots", "api")


def owners(app: Service, org: str) -> set[str]:
    organisation = app.db.get(Organisation.by_id(org).consistent())
    assert organisation is not None
    return organisation.owners


def test_in_and_out_of_groups(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [CREW, PILOTS, Group("a/b"), Group("c/d", "api")])
    seen = app.organisation_details(org)
    assert sorted(seen.groups) == ["a/b", "crew", "owner"]
    assert sorted(seen.services["api"].groups) == ["c/d", "pilots"]
    app.remove_from_groups(org, MEMBER, [CREW, Group("c/d", "api"), Group("never")])
    seen = app.organisation_details(org)
    assert sorted(seen.groups) == ["a/b", "owner"]
    assert sorted(seen.services["api"].groups) == ["pilots"]


def test_a_service_whose_id_holds_a_slash_keeps_its_groups_apart(app: Service, org: str) -> None:
    app.put_service(org, "api/v2", "Two")
    app.add_to_groups(org, MEMBER, [Group("x", "api/v2"), Group("v2/x", "api")])
    seen = app.organisation_details(org)
    assert list(seen.services["api/v2"].groups) == ["x"]
    assert list(seen.services["api"].groups) == ["v2/x"]
    app.delete_service(org, "api")
    assert list(app.organisation_details(org).services["api/v2"].groups) == ["x"]


def test_only_groups_of_services_that_are_there(app: Service, org: str) -> None:
    with pytest.raises(NoSuchService, match="'nope'"):
        app.add_to_groups(org, MEMBER, [CREW, Group("x", "nope")])
    found = member(app, org, MEMBER)
    assert found is not None
    assert found.groups == set()


@pytest.mark.parametrize(
    ("groups", "by", "units"),
    [([CREW], None, 7.0), ([CREW], OWNER, 7.0), ([PILOTS], None, 9.0), ([CREW, PILOTS], OWNER, 11.0)],
)
def test_adding_is_one_request_that_reads_nothing(
    app: Service, org: str, groups: list[Group], by: str | None, units: float
) -> None:
    with app.db.meter() as meter:
        app.add_to_groups(org, MEMBER, groups, by=by)
    assert (meter.requests, meter.read_units, meter.write_units) == (1, 0.0, units)


@pytest.mark.parametrize(("by", "units"), [(None, 9.0), (OWNER, 9.0)])
def test_removing_is_one_request_that_reads_nothing(app: Service, org: str, by: str | None, units: float) -> None:
    app.add_to_groups(org, MEMBER, [CREW, PILOTS])
    with app.db.meter() as meter:
        app.remove_from_groups(org, MEMBER, [CREW, PILOTS], by=by)
    assert (meter.requests, meter.read_units, meter.write_units) == (1, 0.0, units)


def test_removing_a_user_is_a_read_and_a_transaction(app: Service, org: str) -> None:
    with app.db.meter() as meter:
        app.remove_user(org, MEMBER, by=OWNER)
    assert (meter.requests, meter.read_units, meter.write_units) == (2, 3.0, 7.0)


def test_who_may_change_members(app: Service, org: str) -> None:
    before = raw_items(app.db)
    for caller, error in ((MEMBER, NotAllowed), (INVITED, NoSuchOrganisation), (STRANGER, NoSuchOrganisation)):
        with pytest.raises(error):
            app.add_to_groups(org, MEMBER, [OWNERS], by=caller)
        with pytest.raises(error):
            app.add_to_groups(org, MEMBER, [CREW], by=caller)
        with pytest.raises(error):
            app.remove_from_groups(org, OWNER, [OWNERS], by=caller)
        with pytest.raises(error):
            app.remove_from_groups(org, MEMBER, [CREW], by=caller)
        with pytest.raises(error):
            app.remove_user(org, OWNER, by=caller)
    for target, wrong in ((INVITED, NotAccepted), (STRANGER, NoSuchMember)):
        with pytest.raises(wrong):
            app.add_to_groups(org, target, [OWNERS], by=OWNER)
        with pytest.raises(wrong):
            app.remove_from_groups(org, target, [CREW])
    with pytest.raises(NoSuchMember):
        app.remove_user(org, STRANGER, by=OWNER)
    with pytest.raises(NoSuchOrganisation):
        app.remove_user("nowhere", STRANGER)
    assert raw_items(app.db) == before


def test_the_last_owner_stays(app: Service, org: str) -> None:
    before = raw_items(app.db)
    for by in (None, OWNER):
        with pytest.raises(LastOwner):
            app.remove_user(org, OWNER, by=by)
        with pytest.raises(LastOwner):
            app.remove_from_groups(org, OWNER, [OWNERS, CREW], by=by)
    assert raw_items(app.db) == before


def test_an_owner_may_go_when_there_is_another(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [OWNERS], by=OWNER)
    app.remove_from_groups(org, OWNER, [OWNERS], by=OWNER)
    assert owners(app, org) == {MEMBER}
    with pytest.raises(NotAllowed):
        app.remove_user(org, MEMBER, by=OWNER)
    with pytest.raises(LastOwner):
        app.remove_user(org, MEMBER, by=MEMBER)


@pytest.mark.parametrize(("first", "second"), [(OWNER, MEMBER), (MEMBER, OWNER)])
@pytest.mark.parametrize("by_operator", [True, False])
def test_of_two_owners_who_remove_each_other_one_stays(
    app: Service, org: str, first: str, second: str, by_operator: bool
) -> None:
    app.add_to_groups(org, MEMBER, [OWNERS])
    app.remove_user(org, second, by=None if by_operator else first)
    with pytest.raises(LastOwner if by_operator else NoSuchOrganisation):
        app.remove_user(org, first, by=None if by_operator else second)
    assert owners(app, org) == {first}


@pytest.mark.parametrize("round", range(5))
def test_owners_who_remove_each_other_at_the_same_time(app: Service, org: str, round: int) -> None:
    """Four owners, each at once putting out the next, by two ways: one at least is left."""
    everybody = [OWNER, MEMBER, INVITED, STRANGER]
    app.accept(org, INVITED)
    app.invite(org, STRANGER)
    app.accept(org, STRANGER)
    for email in everybody[1:]:
        app.add_to_groups(org, email, [OWNERS])

    def put_out(number: int) -> bool:
        target, by = everybody[number % 4], everybody[(number + 1) % 4]
        try:
            if number < 4:
                app.remove_from_groups(org, target, [OWNERS], by=by)
            else:
                app.remove_user(org, target, by=by if number % 2 else None)
        except ApplicationError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(put_out, range(8)))
    assert any(done)
    assert len(owners(app, org)) >= 1
