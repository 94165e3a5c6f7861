"""Who sees and changes what, with tokens: people of one domain share their boards, and see no others."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given, strategies as st

from examples.projects.tests.board.conftest import SECRET, Application
from examples.projects.tests.board.pushing import Client
from projects.board.callers import ProjectTokens
from projects.errors import Invalid
from projects.model import put_comment
from projects.rights import organisation_of

ADA, GRACE, EVE = "ada@example.com", "grace@example.com", "eve@evil.example"
SHAPE = {"kind": "rect", "x": 1, "y": 2}


async def board_of(signed: Application, user: str) -> str:
    made = await signed.user(user).post("/api/projects", json={"name": "Plan"})
    id: str = made.raise_for_status().json()["id"]
    return id


async def test_without_a_token_nothing_answers(signed: Application) -> None:
    nobody = signed.anybody
    id = await board_of(signed, ADA)
    for path in ("/api/projects", f"/api/projects/{id}", f"/replicache/pokes?project={id}"):
        answer = await nobody.get(path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert (await Client(nobody, id).push()).status_code == 401
    assert (await Client(nobody, id).pull()).status_code == 401
    for path in ("/", f"/projects/{id}"):
        assert (await nobody.get(path)).headers["location"] == "/sign-in"


@pytest.mark.parametrize("token", ["", "x", "Bearer", "eyJhbGciOiJub25lIn0.e30."])
async def test_a_token_that_is_none(signed: Application, token: str) -> None:
    answer = await signed.anybody.get("/api/projects", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 401


async def test_people_of_one_domain_share_their_boards(signed: Application) -> None:
    id = await board_of(signed, ADA)
    await Client(signed.user(ADA), id, "a").push(("put_shape", {"id": "s1", "shape": SHAPE}))
    await Client(signed.user(GRACE), id, "g").push(("move_shape", {"id": "s1", "x": 5, "y": 5}))
    head = (await signed.user(ADA).get(f"/api/projects/{id}")).json()
    assert head["shapes"] == {"s1": SHAPE | {"x": 5, "y": 5}}
    assert [project["id"] for project in (await signed.user(GRACE).get("/api/projects")).json()["projects"]] == [id]


async def test_a_foreign_board_looks_like_one_that_is_not_there(signed: Application) -> None:
    id = await board_of(signed, ADA)
    eve = signed.user(EVE)
    assert (await eve.get("/api/projects")).json() == {"projects": [], "after": None}

    async def answers(project: str) -> list[tuple[int, str]]:
        client = Client(eve, project, "e")
        found = [
            await eve.get(f"/api/projects/{project}"),
            await eve.get(f"/api/projects/{project}/versions"),
            await eve.get(f"/api/projects/{project}/versions/0"),
            await eve.get(f"/api/projects/{project}/diff?from=0&to=0"),
            await eve.post(f"/api/projects/{project}/restore", json={"version": 0}),
            await eve.get(f"/projects/{project}"),
            await eve.get(f"/replicache/pokes?project={project}"),
            await client.push(("rename", {"name": "Eve's"})),
            await client.pull(),
        ]
        return [(answer.status_code, answer.text.replace(project, "ID")) for answer in found]

    foreign, missing = await answers(id), await answers("0" * len(id))
    assert foreign == missing
    assert {status for status, _ in foreign} == {404}
    assert (await signed.user(ADA).get(f"/api/projects/{id}")).json()["version"] == 0


async def test_a_comment_is_signed_by_who_made_it(signed: Application) -> None:
    id = await board_of(signed, ADA)
    client = Client(signed.user(GRACE), id)
    await client.push(
        ("put_comment", {"id": "1", "comment": {"text": "mine", "author": GRACE}}),
        ("put_comment", {"id": "2", "comment": {"text": "forged", "author": ADA}}),
        ("put_comment", {"id": "3", "comment": {"text": "unsigned"}}),
    )
    head = (await signed.user(ADA).get(f"/api/projects/{id}")).json()
    assert sorted(head["comments"]) == ["1", "3"]
    (newest, *_) = (await signed.user(ADA).get(f"/api/projects/{id}/versions")).json()["versions"]
    assert [applied["rejected"] for applied in newest["mutations"]] == [False, True, False]


async def test_a_restore_checks_what_else_waits(signed: Application) -> None:
    """Whoever applies what waits in the inbox: it is applied in the name of who pushed it, or refused."""
    id = await board_of(signed, ADA)
    forged = put_comment(id="1", comment={"text": "forged", "author": ADA})
    await signed.boards.documents.submit(id, [forged.by("waiting", 1, principal=GRACE)])
    assert (await signed.user(ADA).post(f"/api/projects/{id}/restore", json={"version": 0})).status_code == 201
    versions = (await signed.user(ADA).get(f"/api/projects/{id}/versions")).json()["versions"]
    rejected = {applied["name"]: applied["rejected"] for version in versions for applied in version["mutations"]}
    assert rejected == {"put_comment": True, "$restore": False}


async def test_signing_in_and_out(signed: Application) -> None:
    token = signed.user(ADA).headers["authorization"].removeprefix("Bearer ")
    browser = signed.anybody
    refused = await browser.post("/sign-in", data={"token": token + "x"})
    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    entered = await browser.post("/sign-in", data={"token": token})
    assert entered.headers["location"] == "/"
    cookie = entered.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/", "max-age="))
    made = await browser.post("/projects", data={"name": "<b>Mine</b>"})
    page = await browser.get(made.headers["location"])
    assert page.status_code == 200
    assert f'data-user="{ADA}"' in page.text
    assert "&lt;b&gt;Mine&lt;/b&gt;" in (await browser.get("/")).text
    left = await browser.post("/sign-out")
    assert left.headers["clear-site-data"] == '"cache", "storage"'
    assert (await browser.get("/")).headers["location"] == "/sign-in"


async def test_the_cookie_does_not_let_another_site_in(signed: Application) -> None:
    token = signed.user(ADA).headers["authorization"].removeprefix("Bearer ")
    await signed.anybody.post("/sign-in", data={"token": token})
    forged = await signed.anybody.post("/projects", data={"name": "x"}, headers={"origin": "https://evil.example"})
    assert forged.status_code == 403


async def test_only_under_its_own_name(demo: Application) -> None:
    """A name of somebody else that leads here is how a page of another site would read what is here."""
    for host, status in (("127.0.0.1:8080", 200), ("localhost", 200), ("evil.example", 400), ("127.0.0.1.nip.io", 400)):
        assert (await demo.anybody.get("/", headers={"host": host})).status_code == status, host
    transport = demo.anybody._transport
    async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as elsewhere:
        assert (await Client(elsewhere, "p").pull()).status_code == 400


def test_a_name_and_a_domain_of_the_same_text_are_two_organisations() -> None:
    texts = ("ada", "example.com", "a.b", ".", "localhost", "demo", "ada@", "@ada")
    alone = [organisation_of(text) for text in texts if "@" not in text]
    of_domains = [organisation_of(f"mallory@{text}") for text in texts if "@" not in text]
    assert len({*alone, *of_domains}) == len(alone) + len(of_domains)
    assert organisation_of("a@b@example.com") == organisation_of("ada@example.com") == "example.com"
    assert organisation_of("demo") == "demo"
    for nobody in ("", "ada@"):
        with pytest.raises(Invalid):
            ProjectTokens([SECRET]).issue(nobody)


@given(st.text(max_size=8), st.text(max_size=8), st.text(alphabet="@.ab", max_size=6))
def test_no_name_alone_gives_the_organisation_of_a_domain(name: str, domain: str, odd: str) -> None:
    for alone in (name, domain, odd):
        for text in (domain, odd):
            if "@" not in alone + text and text:
                assert organisation_of(alone) != organisation_of(f"{name}@{text}")


async def test_a_user_of_a_domain_does_not_see_the_boards_of_the_user_of_that_name(signed: Application) -> None:
    ada, mallory = signed.user("ada"), signed.user("mallory@ada")
    made = (await ada.post("/api/projects", json={"name": "Secret"})).json()
    assert (await mallory.get("/api/projects")).json()["projects"] == []
    assert (await mallory.get(f"/api/projects/{made['id']}")).status_code == 404
    assert (await ada.get(f"/api/projects/{made['id']}")).status_code == 200
