"""Who must not come in does not, and nothing is sent to the database for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from singletable import AsyncDatabase, Database, InvalidRequest
from singletable.studio import Studio, loopback_studio, studio
from tests.studio.visitor import PORT, URL, Visitor, client_of, recording
from tests.support.models import app


@pytest.fixture
async def stranger(visitor: Visitor) -> AsyncIterator[httpx.AsyncClient]:
    """A client without the cookie."""
    async with client_of(visitor.studio) as client:
        yield client


PATHS = ("/", "/.json", "/static/studio.css", "/patterns", "/no/such/page")


@pytest.mark.parametrize("path", PATHS)
async def test_nobody_comes_in_without_a_token(visitor: Visitor, stranger: httpx.AsyncClient, path: str) -> None:
    answer = await stranger.get(path)
    assert answer.status_code == 403
    assert "address that it printed" in answer.text
    assert visitor.sent == []


@pytest.mark.parametrize("host", ["example.org", "example.org:8123", "127.0.0.1", "127.0.0.1:8124", "localhost.:8123"])
async def test_another_host_is_refused(visitor: Visitor, host: str) -> None:
    """A name that an attacker's server answers for, and then this machine."""
    answer = await visitor.client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert visitor.sent == []


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"[::1]:{PORT}"])
async def test_this_machine_has_several_names(visitor: Visitor, host: str) -> None:
    assert (await visitor.client.get("/", headers={"host": host})).status_code in (200, 403)  # cookies are of one name


@pytest.mark.parametrize(
    "origin", ["https://example.org", "null", "http://127.0.0.1:9999", f"https://127.0.0.1:{PORT}"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_another_origin_is_refused(visitor: Visitor, origin: str, method: str) -> None:
    answer = await visitor.client.request(method, "/sample/app", headers={"origin": origin})
    assert answer.status_code == 403
    assert visitor.sent == []


async def test_a_form_from_nowhere_is_refused(visitor: Visitor) -> None:
    assert (await visitor.client.post("/sample/app")).status_code == 403
    assert visitor.sent == []


async def test_a_browser_that_leaves_out_the_origin_says_the_site(visitor: Visitor) -> None:
    form = {"form_token": await visitor.token()}
    for site, status in (("cross-site", 403), ("same-site", 403), ("none", 403), ("same-origin", 303)):
        answer = await visitor.client.post("/sample/app", data=form, headers={"sec-fetch-site": site})
        assert answer.status_code == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
async def test_other_methods_are_refused(visitor: Visitor, method: str) -> None:
    assert (await visitor.client.request(method, "/", headers={"origin": URL})).status_code == 405
    assert visitor.sent == []


@pytest.mark.parametrize("token", ["", "x", "\N{SNOWMAN}"])
async def test_a_wrong_token_is_refused(stranger: httpx.AsyncClient, token: str) -> None:
    answer = await stranger.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_the_token_and_the_cookie_of_an_earlier_studio_are_refused(db: AsyncDatabase, visitor: Visitor) -> None:
    made, _ = loopback_studio(db, app, port=PORT)
    async with client_of(made) as client:
        assert (await client.get(visitor.address)).status_code == 403
        client.cookies.update(visitor.client.cookies)
        assert (await client.get("/")).status_code == 403
    assert visitor.sent == []


async def test_the_cookie_is_for_this_site_alone(stranger: httpx.AsyncClient, visitor: Visitor) -> None:
    cookie = (await stranger.get(visitor.address)).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert visitor.address.partition("token=")[2] not in cookie


async def test_the_token_leads_to_no_other_site(stranger: httpx.AsyncClient, visitor: Visitor) -> None:
    token = visitor.address.partition("token=")[2]
    for path in ("//example.org", "//example.org/x"):
        answer = await stranger.get(f"{URL}{path}", params={"token": token})
        assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../application.py",
        "/static/..%2fapplication.py",
        "/static/%2e%2e/application.py",
        "/static//etc/passwd",
        "/static/..%5capplication.py",
        "/static/%00",
    ],
)
async def test_only_the_files_of_static_are_given(visitor: Visitor, path: str) -> None:
    request = visitor.client.build_request("GET", "/")
    request.url = httpx.URL(scheme="http", host="127.0.0.1", port=PORT, raw_path=path.encode())
    answer = await visitor.client.send(request)
    assert answer.status_code == 404
    assert "ASGI" not in answer.text
    assert visitor.sent == []


@pytest.mark.parametrize(
    "form", [{"x": "y"}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": "\N{SNOWMAN}"}]
)
async def test_a_form_without_its_token_is_refused(visitor: Visitor, form: dict[str, str]) -> None:
    answer = await visitor.send("/sample/app", form)
    assert answer.status_code == 403
    assert "no valid token" in answer.text
    assert visitor.sent == []


async def test_the_form_of_an_earlier_studio_is_refused(db: AsyncDatabase, visitor: Visitor, writer: Visitor) -> None:
    answer = await visitor.send("/sample/app", {"form_token": await writer.token()})
    assert answer.status_code == 403


async def test_a_body_that_is_no_form_is_refused(visitor: Visitor) -> None:
    headers = {"origin": URL, "content-type": "application/json"}
    assert (await visitor.client.post("/sample/app", content=b"{}", headers=headers)).status_code == 400
    huge = {"form_token": await visitor.token(), "x": "y" * 8_000_001}
    visitor.sent.clear()
    assert (await visitor.send("/sample/app", huge)).status_code == 400
    assert visitor.sent == []


async def test_each_answer_has_its_headers(visitor: Visitor, stranger: httpx.AsyncClient) -> None:
    for answer in (
        await visitor.client.get("/"),
        await visitor.client.get("/static/studio.css"),
        await stranger.get("/"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers


async def test_a_refusal_is_logged_by_method_and_path(
    visitor: Visitor, stranger: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Never by query, which may hold a token; a path can't begin a line of its own."""
    await stranger.get("/patterns%0aINFO", params={"token": "t0ken"})
    await visitor.send("/sample/app", {"x": "y"})
    said = [record.getMessage() for record in caplog.records if record.name == "singletable.studio"]
    assert [each.partition(":")[0] for each in said] == ["GET '/patterns\\nINFO' was refused", "owner"]
    assert "POST '/sample' was refused: 403 the form has no valid token" in said[1]
    assert "t0ken" not in caplog.text


# --- mounted ----------------------------------------------------------------------------------------------------------
async def nobody(request: Any) -> None:
    return None


def never(user: str, kind: type[Any], right: str) -> bool:
    return False


def test_a_mounted_studio_has_no_defaults(db: AsyncDatabase) -> None:
    make: Any = studio
    sent = recording(db)
    with pytest.raises(TypeError, match="authenticate"):
        make(db, app)
    with pytest.raises(TypeError, match="authorise"):
        make(db, app, authenticate=nobody)
    with pytest.raises(InvalidRequest, match="authenticate="):
        make(db, app, authenticate=None, authorise=never)
    with pytest.raises(InvalidRequest, match="authorise="):
        make(db, app, authenticate=nobody, authorise=None)
    assert sent == []


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/", "/item/app?pk=user%23ada%40example.org&sk=user", "/sample/app", "/check/app"])
async def test_a_mounted_studio_sends_nothing_for_nobody(
    db: AsyncDatabase, method: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    made, sent = studio(db, app, authenticate=nobody, authorise=never, write=True), recording(db)
    async with client_of(made, "https://shop.example.org") as client:
        answer = await client.request(method, path, headers={"origin": "https://shop.example.org"})
        assert answer.status_code == 401
    assert sent == []
    assert caplog.messages == []  # at the level of warnings: who has not signed in yet is none


def test_a_studio_takes_an_awaiting_database_and_a_table(db: AsyncDatabase) -> None:
    make: Any = studio
    with pytest.raises(InvalidRequest, match="one table"):
        make(db, authenticate=nobody, authorise=never)
    with pytest.raises(InvalidRequest, match="AsyncDatabase"):
        make(Database, app, authenticate=nobody, authorise=never)


async def test_a_mounted_studio_lets_in_whom_the_application_knows(db: AsyncDatabase) -> None:
    def user_of(request: Any) -> str | None:
        return request.headers.get("x-user") or None

    def may(user: str, kind: type[Any], right: str) -> bool:
        return user == "ada" or (user == "bob" and kind.__name__ == "User")

    made = studio(db, app, authenticate=user_of, authorise=may)
    async with client_of(made, "https://shop.example.org") as client:
        assert (await client.get("/")).status_code == 401
        for user, classes in (("ada", 6), ("bob", 1), ("eve", 0)):
            found = (await client.get("/.json", headers={"x-user": user})).json()
            rows = [row for row in found["tables"][0]["rows"] if row["is_own"]]
            assert len(rows) == classes
            assert (found["tables"][0]["items"] is None) == (user != "ada")


async def test_it_is_mounted_below_a_path(db: AsyncDatabase) -> None:
    def ada(request: Any) -> str:
        return "ada"

    def always(user: str, kind: type[Any], right: str) -> bool:
        return True

    mounted = Mount("/admin", studio(db, app, authenticate=ada, authorise=always))
    async with client_of(Starlette(routes=[mounted]), "https://shop.example.org") as client:
        home = await client.get("/admin/")
        for link in ('href="/admin/static/studio.css"', 'href="/admin/patterns"', 'action="/admin/sample/app"'):
            assert link in home.text
        assert (await client.get("/admin/static/studio.css")).status_code == 200
        assert (await client.get("/admin/patterns/app/User/by_email.json?email=ada@example.org")).json()["found"] == 1
        token = home.text.partition('name="form_token" value="')[2].partition('"')[0]
        headers = {"origin": "https://shop.example.org"}
        answer = await client.post("/admin/sample/app", data={"form_token": token}, headers=headers)
        assert (answer.status_code, answer.headers["location"]) == (303, "/admin/#app")
        assert "Done. It took" in (await client.get(answer.headers["location"])).text
        foreign = await client.post(
            "/admin/sample/app", data={"form_token": token}, headers={"origin": "https://x.org"}
        )
        assert foreign.status_code == 403


async def test_a_mounted_studio_leaves_the_database_open(db: AsyncDatabase, visitor: Visitor) -> None:
    """The application's server ends for the studio too. The studio of one person closes its database."""

    def ada(request: Any) -> str:
        return "ada"

    await _served(studio(db, app, authenticate=ada, authorise=lambda user, kind, right: True))
    assert (await db.describe_table(app)) is not None
    await _served(visitor.studio)
    with pytest.raises(InvalidRequest, match="closed"):
        await db.describe_table(app)


async def _served(served: Studio) -> None:
    """A server's life, from its start to its end, without a request."""
    steps = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    told: list[str] = []

    async def receive() -> Any:
        return next(steps)

    async def send(message: Any) -> None:
        told.append(message["type"])

    await served({"type": "lifespan", "state": {}}, receive, send)
    assert told == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@pytest.mark.parametrize("body", ["a=\u00e9".encode(), b"a=%ff", b"&".join(b"%d=" % n for n in range(20_001))])
async def test_a_body_that_is_not_a_form_is_refused(visitor: Visitor, body: bytes) -> None:
    headers = {"origin": URL, "content-type": "application/x-www-form-urlencoded"}
    answer = await visitor.client.post("/sample/app", content=body, headers=headers)
    assert answer.status_code == 400
    assert "the form can&#39;t be read" in answer.text
    assert visitor.sent == []
