"""Every endpoint for every kind of caller."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from examples.organisations.tests.http import TOKENS, Client
from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER, raw_items
from organisations.api import create_app
from organisations.groups import ADMINS, Group
from organisations.service import Service

ADMIN = "edsger@example.org"
CALLERS = {"owner": OWNER, "admin": ADMIN, "member": MEMBER, "invited": INVITED, "stranger": STRANGER, "nobody": None}
FOUND_NOTHING = {"detail": "Not Found"}


@dataclass(frozen=True)
class Endpoint:
    """One way in, and what owners and members get; all others get 404, and nobody 401."""

    method: str
    path: str
    owner: int
    member: int
    json: Any = None
    admin: int | None = None
    """Where an admin gets what a member does not."""


NAME = {"name": "New"}
GROUPS = {"groups": [{"name": "crew"}]}
APPOINTED = {"groups": [{"name": "crew"}, {"name": "admin"}]}
MESSAGE = {"group": {"name": "crew"}, "text": "Ahoy"}
OF_ORGANISATIONS = [
    Endpoint("GET", "/organisations/{org}", 200, 200),
    Endpoint("GET", "/organisations/{org}/details", 200, 200),
    Endpoint("GET", "/organisations/{org}/role", 200, 200),
    Endpoint("GET", "/organisations/{org}/may?user=grace@example.org&group=crew", 200, 200),
    Endpoint("GET", "/organisations/{org}/who-may?service=api", 200, 200),
    Endpoint("GET", "/organisations/{org}/trail", 200, 403, None, 200),
    Endpoint("PUT", "/organisations/{org}", 200, 403, NAME),
    Endpoint("DELETE", "/organisations/{org}", 202, 403),
    Endpoint("PUT", "/organisations/{org}/services/web", 204, 403, NAME, 204),
    Endpoint("PUT", "/organisations/{org}/services/api", 204, 403, NAME, 204),
    Endpoint("DELETE", "/organisations/{org}/services/api", 204, 403, None, 204),
    Endpoint("GET", "/organisations/{org}/invitations", 200, 403),
    Endpoint("POST", "/organisations/{org}/invitations", 204, 403, {"email": "new@example.org"}),
    Endpoint("DELETE", "/organisations/{org}/invitations/linus@example.org", 204, 403),
    Endpoint("POST", "/organisations/{org}/messages", 202, 403, MESSAGE, 202),
    Endpoint("POST", "/organisations/{org}/members/grace@example.org/groups", 204, 403, GROUPS, 204),
    Endpoint("POST", "/organisations/{org}/members/grace@example.org/groups", 204, 403, APPOINTED),
    Endpoint("POST", "/organisations/{org}/members/grace@example.org/groups/remove", 204, 403, GROUPS, 204),
    Endpoint("POST", "/organisations/{org}/members/edsger@example.org/groups/remove", 204, 403, APPOINTED),
    Endpoint("DELETE", "/organisations/{org}/members/grace@example.org", 204, 403),
]
OF_GRACE = [
    Endpoint("PUT", "/users/grace@example.org", 404, 200, {"first_name": "G"}),
    Endpoint("GET", "/users/grace@example.org", 404, 200),
    Endpoint("GET", "/users/grace@example.org/details", 404, 200),
    Endpoint("GET", "/users/grace@example.org/groups", 404, 200),
    Endpoint("DELETE", "/users/grace@example.org/organisations/{org}", 404, 204),
    Endpoint("POST", "/users/grace@example.org/invitations/{org}/accept", 404, 409),
    Endpoint("POST", "/users/grace@example.org/invitations/{org}/decline", 404, 409),
]
ALL = [*OF_ORGANISATIONS, *OF_GRACE]


def test_no_endpoint_is_left_out(app: Service) -> None:
    paths: dict[str, Any] = create_app(app, TOKENS).openapi()["paths"]
    told = {(m.upper(), path) for path, methods in paths.items() for m in methods}
    # What anybody may do is in test_api, a job in test_jobs.
    others = {("POST", "/organisations"), ("GET", "/jobs/{job_id}")}
    place = re.compile(r"grace@example.org|edsger@example.org|linus@example.org")
    asked = {(e.method, place.sub("{email}", e.path.partition("?")[0])) for e in ALL}
    asked = {(method, re.sub("/(api|web)$", "/{service_id}", path)) for method, path in asked}
    assert told - others == {(method, path.replace("{org}", "{organisation_id}")) for method, path in asked}
    assert others <= told


@pytest.fixture
def org(app: Service, org: str) -> str:
    """The organisation of all tests, with an admin."""
    app.put_user(ADMIN)
    app.invite(org, ADMIN, [ADMINS])
    app.accept(org, ADMIN)
    return org


def expected(endpoint: Endpoint, kind: str) -> int:
    """The status that a caller gets."""
    is_own = endpoint.path.startswith("/users")
    admin = 404 if is_own else endpoint.member if endpoint.admin is None else endpoint.admin
    return {"owner": endpoint.owner, "admin": admin, "member": endpoint.member, "nobody": 401}.get(kind, 404)


ALLOWED = [(endpoint, kind) for endpoint in ALL for kind in CALLERS if expected(endpoint, kind) < 400]


@pytest.mark.parametrize(("endpoint", "kind"), ALLOWED, ids=[f"{e.method} {e.path}-{kind}" for e, kind in ALLOWED])
async def test_who_gets_what(app: Service, org: str, endpoint: Endpoint, kind: str) -> None:
    answer = await Client(app, CALLERS[kind]).ask(endpoint.method, endpoint.path.format(org=org), endpoint.json)
    assert answer.status_code == expected(endpoint, kind), answer.text


@pytest.mark.parametrize("endpoint", ALL, ids=lambda e: f"{e.method} {e.path}")
async def test_who_is_refused(app: Service, org: str, endpoint: Endpoint) -> None:
    """One after the other, as a refusal changes nothing. What is not theirs is as if it were not there."""
    before = raw_items(app.db)
    for kind in CALLERS:
        if (endpoint, kind) in ALLOWED:
            continue
        client = Client(app, CALLERS[kind])
        answer = await client.ask(endpoint.method, endpoint.path.format(org=org), endpoint.json)
        assert answer.status_code == expected(endpoint, kind), (kind, answer.text)
        assert raw_items(app.db) == before, kind
        if answer.status_code == 404:
            missing = await client.ask(endpoint.method, endpoint.path.format(org="nowhere"), endpoint.json)
            unknown = await client.ask("GET", "/organisations/no/such/path")
            assert answer.json() == FOUND_NOTHING
            assert answer.content == missing.content == unknown.content
            assert answer.headers == missing.headers


@pytest.mark.parametrize("endpoint", OF_ORGANISATIONS, ids=lambda e: f"{e.method} {e.path}")
async def test_what_is_missing_is_missing_for_owners_of_others_too(app: Service, org: str, endpoint: Endpoint) -> None:
    app.create_organisation("Another", owner=STRANGER)
    answer = await Client(app, STRANGER).ask(endpoint.method, endpoint.path.format(org=org), endpoint.json)
    assert (answer.status_code, answer.json()) == (404, FOUND_NOTHING)


@pytest.mark.parametrize(
    ("method", "path", "json", "requests"),
    [
        ("GET", "/organisations/{org}", None, 1),
        ("GET", "/organisations/{org}/details", None, 1),
        ("GET", "/organisations/{org}/may?user=grace@example.org&service=api", None, 1),
        ("GET", "/organisations/{org}/may?user=ada@example.org&service=api", None, 1),
        ("PUT", "/organisations/{org}", NAME, 2),
        ("PUT", "/organisations/{org}/services/web", NAME, 1),
        ("POST", "/organisations/{org}/invitations", {"email": "new@example.org"}, 2),
        ("POST", "/organisations/{org}/members/grace@example.org/groups", GROUPS, 1),
        ("POST", "/organisations/{org}/members/grace@example.org/groups/remove", GROUPS, 1),
        ("DELETE", "/organisations/{org}/members/grace@example.org", None, 2),
    ],
)
async def test_checking_access_takes_no_request(
    app: Service, org: str, method: str, path: str, json: Any, requests: int
) -> None:
    app.add_to_groups(org, MEMBER, [Group("crew")])
    with app.db.meter() as meter:
        answer = await Client(app, OWNER).ask(method, path.format(org=org), json)
    assert answer.is_success
    assert meter.requests == requests


BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", "/users/ada@example.org", {"first_name": "A"}),
    ("POST", "/organisations", NAME),
    ("PUT", "/organisations/{org}", NAME),
    ("PUT", "/organisations/{org}/services/web", NAME),
    ("POST", "/organisations/{org}/invitations", {"email": "new@example.org"}),
    ("POST", "/organisations/{org}/members/grace@example.org/groups", GROUPS),
    ("POST", "/organisations/{org}/members/grace@example.org/groups/remove", GROUPS),
]
RESERVED = ["id", "rng", "typ", "v", "_w", "createdAt", "created_at", "acceptedAt", "accepted_at", "owners", "copies"]
RESERVED += ["organisationId", "organisation_id", "waiting", "shown_as", "deleted_at", "by", "role"]


@pytest.mark.parametrize("name", RESERVED)
async def test_what_is_not_asked_for_is_refused(app: Service, org: str, name: str) -> None:
    before, client = raw_items(app.db), Client(app, OWNER)
    for method, path, json in BODIES:
        answer = await client.ask(method, path.format(org=org), {**json, name: "x"})
        assert answer.status_code == 422, (method, path, answer.text)
    nested = {"groups": [{"name": "crew", name: "x"}]}
    answer = await client.ask("POST", f"/organisations/{org}/members/{MEMBER}/groups", nested)
    assert answer.status_code == 422
    assert raw_items(app.db) == before


@pytest.mark.parametrize("value", [1, True, None, {"S": "x"}, {"$gt": ""}, ["x"], "", "x" * 201])
async def test_a_name_is_text_of_some_length(app: Service, org: str, value: Any) -> None:
    before, client = raw_items(app.db), Client(app, OWNER)
    for method, path in (("PUT", f"/organisations/{org}"), ("POST", "/organisations")):
        assert (await client.ask(method, path, {"name": value})).status_code == 422
    groups = {"groups": [{"name": value}]}
    assert (await client.ask("POST", f"/organisations/{org}/members/{MEMBER}/groups", groups)).status_code == 422
    assert raw_items(app.db) == before
