"""The HTTP API from registering to leaving, and who it believes."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from itsdangerous import URLSafeTimedSerializer

from examples.organisations.tests.http import SECRET, TOKENS, Client
from examples.organisations.tests.support import MEMBER, OWNER, STRANGER
from examples_shared.principal import InsecureUser
from organisations.api import create_app
from organisations.errors import Invalid
from organisations.principal import SessionTokens
from organisations.service import Service


async def test_from_registering_to_leaving(app: Service) -> None:
    ada, new = Client(app, OWNER), Client(app, "new@example.org")
    org = (await ada.ask("POST", "/organisations", {"name": "Acme"})).json()["organisation_id"]
    assert (await ada.ask("PUT", f"/organisations/{org}/services/api", {"name": "API"})).status_code == 204
    groups = [{"name": "crew"}, {"name": "ci/cd"}, {"name": "pilots", "service_id": "api"}]
    invited = await ada.ask("POST", f"/organisations/{org}/invitations", {"email": "New@example.org", "groups": groups})
    assert invited.status_code == 204

    details = (await new.ask("GET", "/users/new@example.org/details")).json()
    assert details["user"] is None
    assert [m["organisation_name"] for m in details["invitations"]] == ["Acme"]
    accept = f"/users/new@example.org/invitations/{org}/accept"
    assert (await new.ask("POST", accept)).status_code == 409
    put = await new.ask("PUT", "/users/New@example.org", {"first_name": "Neu", "last_name": "N", "phone": "1"})
    assert (put.json()["email"], put.json()["shown"]) == ("new@example.org", "New@example.org")
    assert (await new.ask("GET", "/users/new@example.org")).json() == put.json()
    assert (await new.ask("POST", accept)).status_code == 204

    seen = (await new.ask("GET", f"/organisations/{org}/details")).json()
    assert seen["organisation"] == {"organisation_id": org, "name": "Acme"}
    shown = "New@example.org"
    assert seen["groups"] == {"ci/cd": [shown], "crew": [shown], "owner": [OWNER]}
    assert seen["services"] == {"api": {"name": "API", "groups": {"pilots": [shown]}}}
    assert seen["members"][0]["first_name"] == "Neu"
    assert (await new.ask("GET", f"/organisations/{org}")).json() == {"organisation_id": org, "name": "Acme"}

    path = f"/organisations/{org}/members/new@example.org"
    assert (await ada.ask("POST", f"{path}/groups", {"groups": [{"name": "owner"}]})).status_code == 204
    assert (await new.ask("PUT", f"/organisations/{org}", {"name": "Newer"})).json()["name"] == "Newer"
    assert (await new.ask("DELETE", f"/organisations/{org}/members/{OWNER}")).status_code == 204
    assert (await ada.ask("GET", f"/organisations/{org}/details")).status_code == 404
    last = await new.ask("DELETE", path)
    assert (last.status_code, "last owner" in last.json()["detail"]) == (409, True)
    assert (await new.ask("DELETE", f"/organisations/{org}/services/api")).status_code == 204
    assert (await new.ask("GET", f"/organisations/{org}/details")).json()["services"] == {}


async def test_declining(app: Service, org: str) -> None:
    linus = Client(app, "linus@example.org")
    assert (await linus.ask("POST", f"/users/linus@example.org/invitations/{org}/decline")).status_code == 204
    assert (await linus.ask("POST", f"/users/linus@example.org/invitations/{org}/accept")).status_code == 404
    assert (await linus.ask("GET", "/users/linus@example.org/details")).json()["invitations"] == []


async def test_ids_that_hold_slashes(app: Service, org: str) -> None:
    ada = Client(app, OWNER)
    assert (await ada.ask("PUT", f"/organisations/{org}/services/a%2Fb", {"name": "A/B"})).status_code == 204
    groups = {"groups": [{"name": "x/y", "service_id": "a/b"}]}
    assert (await ada.ask("POST", f"/organisations/{org}/members/{MEMBER}/groups", groups)).status_code == 204
    seen = (await ada.ask("GET", f"/organisations/{org}/details")).json()
    assert seen["services"]["a/b"]["groups"] == {"x/y": [MEMBER]}
    assert (await ada.ask("DELETE", f"/organisations/{org}/services/a/b")).status_code == 204


@pytest.mark.parametrize("email", ["a b", "", "\u212a@example.org", "e\u0301@example.org", "x" * 300])
async def test_an_address_that_is_none_is_refused(app: Service, org: str, email: str) -> None:
    answer = await Client(app, OWNER).ask("POST", f"/organisations/{org}/invitations", {"email": email})
    assert answer.status_code == 422


@pytest.mark.parametrize("service_id", ["e\u0301", "x" * 1100, "a%01b"])
async def test_a_service_id_that_is_no_key_is_refused(app: Service, org: str, service_id: str) -> None:
    answer = await Client(app, OWNER).ask("PUT", f"/organisations/{org}/services/{service_id}", {"name": "X"})
    assert answer.status_code == 422
    assert "control characters" in str(answer.json()["detail"])


async def test_the_openapi_page_is_there(app: Service) -> None:
    answer = await Client(app).ask("GET", "/openapi.json")
    assert answer.json()["info"]["title"] == "Organisations"
    assert answer.json()["components"]["schemas"]["InviteIn"]["additionalProperties"] is False


async def test_the_start_page_answers(app: Service, org: str) -> None:
    answer = await Client(app).ask("GET", "/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "Sign in" in answer.text
    assert "Acme" in (await Client(app, OWNER).ask("GET", "/")).text
    assert (await Client(app).ask("GET", f"/o/{org}")).status_code == 401


async def test_other_host_names_are_not_answered(app: Service) -> None:
    answer = await Client(app, OWNER).ask("GET", f"/users/{OWNER}", headers={"Host": "evil.example"})
    assert answer.status_code == 400


# --- who it believes --------------------------------------------------------------------------------------------------
def forged(secret: str, said: object, salt: str = "organisations.session", digest: Any = hashlib.sha256) -> str:
    return str(URLSafeTimedSerializer(secret, salt=salt, signer_kwargs={"digest_method": digest}).dumps(said))


HEADERS: dict[str, Callable[[], str]] = {
    "nothing": lambda: "",
    "no token": lambda: "Bearer",
    "an empty token": lambda: "Bearer ",
    "another scheme": lambda: f"Basic {base64.b64encode(b'ada@example.org:x').decode()}",
    "an address": lambda: f"Bearer {OWNER}",
    "cut off": lambda: f"Bearer {TOKENS.issue(OWNER)[:-1]}",
    "changed": lambda: f"Bearer x{TOKENS.issue(OWNER)}",
    "another secret": lambda: f"Bearer {forged('another secret, long enough to sign', OWNER)}",
    "another purpose": lambda: f"Bearer {forged(SECRET, OWNER, salt='another')}",
    "sha1": lambda: f"Bearer {forged(SECRET, OWNER, digest=hashlib.sha1)}",
    "no address": lambda: f"Bearer {forged(SECRET, {'email': OWNER})}",
    "unsigned": lambda: f"Bearer {base64.urlsafe_b64encode(json.dumps(OWNER).encode()).decode()}",
}


@pytest.mark.parametrize("kind", HEADERS)
async def test_a_token_that_is_not_ours_is_nobodys(app: Service, kind: str) -> None:
    answer = await Client(app).ask("GET", f"/users/{OWNER}", headers={"Authorization": HEADERS[kind]()})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_the_forger_knows_the_form(app: Service) -> None:
    """What the test before forges is what the application takes, but for what it says is wrong."""
    answer = await Client(app).ask(
        "GET", f"/users/{OWNER}", headers={"Authorization": f"Bearer {forged(SECRET, OWNER)}"}
    )
    assert answer.status_code == 200


def test_a_token_is_good_for_its_time() -> None:
    tokens = SessionTokens([SECRET], max_age_seconds=1)
    headers = {"authorization": f"Bearer {tokens.issue('Ada@example.org')}"}
    assert tokens(headers) == OWNER
    assert SessionTokens([SECRET], max_age_seconds=-1)(headers) is None


def test_secrets_are_exchanged_one_after_the_other() -> None:
    new = "the next secret, long enough to sign with"
    headers = {"authorization": f"Bearer {TOKENS.issue(OWNER)}"}
    assert SessionTokens([SECRET, new])(headers) == OWNER
    assert SessionTokens([new])(headers) is None
    assert TOKENS({"authorization": f"bearer {SessionTokens([SECRET, new]).issue(OWNER)}"}) is None


@pytest.mark.parametrize("secrets", [[], ["short"], [SECRET, "short"]])
def test_a_secret_has_some_length(secrets: list[str]) -> None:
    with pytest.raises(Invalid):
        SessionTokens(secrets)


async def test_the_insecure_user_is_everybody(app: Service, org: str) -> None:
    transport = httpx.ASGITransport(create_app(app, InsecureUser("ada@example.org")))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.get(f"/organisations/{org}")).status_code == 200
        assert (await client.get(f"/users/{STRANGER}")).status_code == 404
