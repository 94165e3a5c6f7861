"""The records as they are stored: keys and names of the published layout."""

from __future__ import annotations

from examples.organisations.tests.support import MEMBER, OWNER, raw_items
from organisations.groups import Group
from organisations.service import Service


def test_stored_names_are_those_of_the_layout(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("crew")])
    items = raw_items(app.db)
    user = items[f"user/{OWNER}", "user"]
    assert user.keys() >= {"email", "firstName", "lastName", "phone", "createdAt"}
    side = items[f"user/{OWNER}", f"userOrganisation/{org}"]
    assert side.keys() >= {"organisationId", "organisationName", "invitedAt", "acceptedAt"}
    assert items[f"organisation/{org}", "organisation"]["organisationName"] == {"S": "Acme"}
    copy = items[f"organisation/{org}", f"organisationMember/{MEMBER}"]
    assert copy["groups"] == {"SS": ["organisationGroup/crew"]}
    assert copy["firstName"] == {"S": "Grace"}
    assert items[f"organisation/{org}", "organisationService/api"]["serviceName"] == {"S": "The API"}
    grant = items[f"groupsOf/{org}/organisationGroup", f"groupMember/crew/{MEMBER}"]
    assert grant["givenAt"]["S"].startswith("2026-01-01T")
    types = {"user", "userOrganisation", "organisation", "organisationMember", "organisationService"}
    types |= {"groupMember", "_task"}
    assert {item["typ"]["S"] for item in items.values()} == types
    assert all("v" in item for item in items.values())


def test_an_open_invitation_has_no_accepted_at(app: Service, org: str) -> None:
    app.decline(org, "linus@example.org")
    app.invite(org, "Somebody.New@Example.org")
    side = raw_items(app.db)["user/somebody.new@example.org", f"userOrganisation/{org}"]
    assert "acceptedAt" not in side
    assert side["invitedAt"]["S"].startswith("2026-01-01T")
