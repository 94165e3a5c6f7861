from __future__ import annotations

import pytest

from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER, overtaken
from organisations.errors import NoSuchUser
from organisations.model import User
from organisations.service import Service
from singletable import Database


def test_put_and_get(app: Service) -> None:
    made = app.put_user("Edsger@Example.org", first_name="Edsger", last_name="D", phone="1")
    found = app.get_user("EDSGER@example.org")
    assert found == made
    assert (found.email, found.shown_as) == ("edsger@example.org", "Edsger@Example.org")


def test_put_keeps_created_at_and_counts(app: Service, org: str) -> None:
    before = app.get_user(OWNER)
    app.put_user(OWNER, first_name="A", last_name="L", phone="2")
    after = app.get_user(OWNER)
    assert (after.created_at, after.copies) == (before.created_at, before.copies)
    assert (after.first_name, after.last_name, after.phone) == ("A", "L", "2")


def test_details_tell_organisations_from_invitations_in_one_query(app: Service, org: str) -> None:
    other = app.create_organisation("Other", owner=INVITED).organisation_id
    with app.db.meter() as meter:
        found = app.user_details(INVITED)
    assert [m.organisation_id for m in found.organisations] == [other]
    assert [(m.organisation_id, m.organisation_name) for m in found.invitations] == [(org, "Acme")]
    assert found.user == app.get_user(INVITED)
    assert (meter.requests, meter.read_units) == (1, 1.0)
    assert list(meter.by_operation) == ["Query"]


def test_somebody_invited_and_never_registered_has_details(app: Service, org: str) -> None:
    app.invite(org, "new@example.org")
    found = app.user_details("new@example.org")
    assert found.user is None
    assert [m.organisation_id for m in found.invitations] == [org]


def test_nobody_is_an_error(app: Service) -> None:
    for ask in (app.get_user, app.user_details, app.refresh_user):
        with pytest.raises(NoSuchUser):
            ask("nobody@example.org")


def test_one_users_partition_holds_nothing_of_another_with_a_longer_address(app: Service, org: str) -> None:
    app.put_user("linus@example.orgx")
    assert app.user_details("linus@example.orgx").invitations == ()


@pytest.mark.parametrize(("email", "write_units"), [(STRANGER, 1.0), (MEMBER, 5.0)])
def test_what_a_put_costs(app: Service, org: str, email: str, write_units: float) -> None:
    with app.db.meter() as meter:
        app.put_user(email, first_name="New")
    assert (meter.requests, meter.read_units, meter.write_units) == (2, 1.0, write_units)


def test_a_get_costs_one_unit(app: Service) -> None:
    with app.db.meter() as meter:
        app.get_user(OWNER)
    assert (meter.requests, meter.read_units) == (1, 1.0)


def test_two_registrations_at_the_same_time_leave_one_user(app: Service, db: Database) -> None:
    late = overtaken(app, 1, lambda: app.put_user("new@example.org", first_name="First"))
    made = late.put_user("new@example.org", first_name="Second")
    first = db.get(User.by_email("new@example.org").consistent())
    assert first is not None
    assert first.first_name == "Second"
    assert first.created_at == made.created_at
