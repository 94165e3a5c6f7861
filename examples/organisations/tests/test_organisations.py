from __future__ import annotations

from uuid import UUID

import pytest

from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER, overtaken, raw_items
from organisations.errors import NoSuchOrganisation, NotAllowed, NotRegistered
from organisations.groups import Group
from organisations.model import OrganisationMember
from organisations.service import Service
from singletable import attr
from singletable.errors import Corrupt


def test_its_creator_is_its_owner(app: Service) -> None:
    with app.db.meter() as meter:
        made = app.create_organisation("Acme", owner="Ada@Example.org")
    assert (meter.requests, meter.read_units, meter.write_units) == (2, 1.0, 11.0)
    assert UUID(made.organisation_id).version == 4
    seen = app.organisation_details(made.organisation_id)
    assert {name: [p.email for p in people] for name, people in seen.groups.items()} == {"owner": [OWNER]}
    assert [m.organisation_id for m in app.user_details(OWNER).organisations] == [made.organisation_id]
    assert app.get_organisation(made.organisation_id) == made


def test_only_somebody_registered_creates_one(app: Service) -> None:
    before = raw_items(app.db)
    with pytest.raises(NotRegistered):
        app.create_organisation("Acme", owner="nobody@example.org")
    assert raw_items(app.db) == before


def test_details_are_one_consistent_query(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("crew"), Group("pilots", "api")])
    for by in (None, MEMBER):
        with app.db.meter() as meter:
            seen = app.organisation_details(org, by=by)
        assert (meter.requests, meter.read_units) == (1, 1.0)
        assert list(meter.by_operation) == ["Query"]
    assert seen.organisation.organisation_name == "Acme"
    assert [(p.email, p.first_name) for p in seen.members] == [(OWNER, "Ada"), (MEMBER, "Grace")]
    assert [p.email for p in seen.groups["crew"]] == [MEMBER]
    assert seen.services["api"].name == "The API"
    assert [p.email for p in seen.services["api"].groups["pilots"]] == [MEMBER]


def test_people_are_in_order(app: Service, org: str) -> None:
    for email in ("Zoe@example.org", "yves@example.org", "Abel@example.org"):
        app.put_user(email)
        app.invite(org, email, [Group("crew")])
        app.accept(org, email)
    shown = [p.shown for p in app.organisation_details(org).groups["crew"]]
    assert shown == ["Abel@example.org", "Zoe@example.org", "yves@example.org"]


def test_a_get_checks_access_on_what_it_read(app: Service, org: str) -> None:
    with app.db.meter() as meter:
        assert app.get_organisation(org, by=MEMBER).organisation_name == "Acme"
    assert (meter.requests, meter.read_units) == (1, 2.0)
    with app.db.meter() as alone:
        app.get_organisation(org)
    assert (alone.requests, alone.read_units) == (1, 1.0)


@pytest.mark.parametrize("caller", [INVITED, STRANGER, "nobody@example.org"])
def test_to_outsiders_there_is_no_such_organisation(app: Service, org: str, caller: str) -> None:
    before = raw_items(app.db)
    for ask in (app.get_organisation, app.organisation_details, app.refresh_organisation):
        with pytest.raises(NoSuchOrganisation) as foreign:
            ask(org, by=caller)
        with pytest.raises(NoSuchOrganisation) as missing:
            ask("nowhere", by=caller)
        assert str(foreign.value).replace(org, "nowhere") == str(missing.value)
    with pytest.raises(NoSuchOrganisation):
        app.put_organisation(org, "Mine", by=caller)
    assert raw_items(app.db) == before


def test_members_do_not_rename(app: Service, org: str) -> None:
    with pytest.raises(NotAllowed):
        app.put_organisation(org, "Mine", by=MEMBER)
    with pytest.raises(NoSuchOrganisation):
        app.put_organisation("nowhere", "Mine")
    assert app.get_organisation(org).organisation_name == "Acme"


def test_details_changed_while_creating_are_copied_as_they_are(app: Service) -> None:
    late = overtaken(app, 1, lambda: app.put_user(OWNER, first_name="Augusta"))
    made = late.create_organisation("Acme", owner=OWNER)
    assert [p.first_name for p in app.organisation_details(made.organisation_id).members] == ["Augusta"]


def test_a_stored_group_that_is_none_is_for_a_developer(app: Service, org: str) -> None:
    key, groups = OrganisationMember.of_organisation(org, MEMBER), attr(OrganisationMember.groups)
    app.db.update(key, groups.include({"serviceGroup/api"}))
    with pytest.raises(Corrupt, match="serviceGroup/api"):
        app.organisation_details(org)
    app.db.update(key, groups.exclude({"serviceGroup/api"}))
