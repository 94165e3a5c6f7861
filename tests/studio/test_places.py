"""Where a table is: a band for one on AWS, whose name is asked for before the first write."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest

from singletable import AsyncDatabase, connect_async
from singletable.flow import DECLARED
from singletable.studio.application import Studio
from singletable.studio.gates import LoopbackGate
from singletable.studio.site import DatabasePlace, Site, database_place_of
from tests.studio.visitor import PORT, URL, Visitor, client_of, shown
from tests.support.models import User, app

ADA = "pk=user%23ada%40example.org&sk=user"
_HIDDEN = re.compile(r'<textarea hidden name="([^"]+)" aria-hidden="true">\n(.*?)</textarea>', re.DOTALL)


@pytest.fixture
async def on_aws(db: AsyncDatabase) -> AsyncIterator[Visitor]:
    """A studio that takes this engine for AWS."""
    site = Site.of(db, (app,), write=True)
    aws = DatabasePlace("AWS eu-central-1", is_aws=True, region="eu-central-1")
    made = Studio(Site(db, (app,), "app", "", True, aws, site.totals), LoopbackGate("t" * 32, "s" * 32, PORT))
    async with client_of(made) as client:
        visitor = Visitor(made, f"{URL}/?token={'t' * 32}", client)
        await visitor.enter()
        yield visitor


@pytest.mark.parametrize(
    ("host", "is_local", "wanted"),
    [
        (
            "dynamodb.eu-central-1.amazonaws.com",
            False,
            DatabasePlace("AWS eu-central-1", is_aws=True, region="eu-central-1", target="aws"),
        ),
        ("127.0.0.1", True, DatabasePlace("http://127.0.0.1:8000", target="http://127.0.0.1:8000")),
    ],
)
def test_where_a_database_is(host: str, is_local: bool, wanted: DatabasePlace) -> None:
    endpoint = SimpleNamespace(host=host, region="eu-central-1", url="http://127.0.0.1:8000", is_local=is_local)
    db: Any = SimpleNamespace(target=SimpleNamespace(engine=None, endpoint=endpoint, names=DECLARED))
    assert database_place_of(db) == wanted


async def test_each_page_has_the_band(on_aws: Visitor) -> None:
    description = await on_aws.studio.site.db.describe_table(app)
    assert description is not None
    account = description.raw["TableArn"].split(":")[4]
    for path in ("/", "/patterns", f"/item/app?{ADA}", "/nowhere"):
        html = (await on_aws.client.get(path)).text
        band = shown(html[html.index('<div class="band"') : html.index("<header")])
        assert "region eu-central-1" in band
        assert "table app" in band
        assert re.search(rf"account {account}\b", band)


async def name_of(on_aws: Visitor) -> str:
    found = await on_aws.studio.site.db.get(User.by_email("ada@example.org"))
    assert found is not None
    return found.name


async def test_the_first_write_asks_for_the_tables_name(on_aws: Visitor) -> None:
    path = f"/item/app/edit?{ADA}"
    page = await on_aws.json(f"/item/app/edit.json?{ADA}")
    form = {"form_token": await on_aws.token(path), "seen": page["seen"], "value.name": "Grace", "confirmed": "1"}
    on_aws.sent.clear()
    asked = await on_aws.send(path, form)
    assert asked.status_code == 409
    assert "Type the table's name" in shown(asked.text)
    assert on_aws.sent == []
    again = {unescape(name): unescape(value) for name, value in _HIDDEN.findall(asked.text)}
    again["form_token"] = form["form_token"]
    wrong = await on_aws.send(path, again | {"table_name": "App"})
    assert "not the name of this table" in shown(wrong.text)
    assert (on_aws.sent, await name_of(on_aws)) == (["GetItem"], "Ada")
    right = await on_aws.send(path, again | {"table_name": "app"})
    assert right.status_code == 303
    assert await name_of(on_aws) == "Grace"
    page = await on_aws.json(f"/item/app/edit.json?{ADA}")
    once_more = await on_aws.send(path, form | {"seen": page["seen"], "value.name": "Ada"})
    assert once_more.status_code == 303


async def test_only_this_users_name_for_this_table_confirms(on_aws: Visitor) -> None:
    """A cookie of that name is nothing: it holds what this studio signed for this user, and this table."""
    path = f"/item/app/edit?{ADA}"
    page = await on_aws.json(f"/item/app/edit.json?{ADA}")
    form = {"form_token": await on_aws.token(path), "seen": page["seen"], "value.name": "Grace", "confirmed": "1"}
    signed = [("confirmed", "owner", "other"), ("confirmed", "eve", "app"), ("form", "owner"), ("confirmed", "owner")]
    for text in ("", "1", "app", "0" * 64, *(on_aws.studio._signer.text(*parts) for parts in signed)):
        on_aws.client.cookies.set("singletable_confirmed_app", text)
        assert (await on_aws.send(path, form)).status_code == 409, text
    assert await name_of(on_aws) == "Ada"
    on_aws.client.cookies.set("singletable_confirmed_app", on_aws.studio._signer.text("confirmed", "owner", "app"))
    assert (await on_aws.send(path, form)).status_code == 303
    assert await name_of(on_aws) == "Grace"


async def test_the_name_is_asked_for_once_where_a_difference_is_shown_first(on_aws: Visitor) -> None:
    path = f"/item/app/edit?{ADA}"
    page = await on_aws.json(f"/item/app/edit.json?{ADA}")
    form = {"form_token": await on_aws.token(path), "seen": page["seen"], "value.name": "Grace", "table_name": "app"}
    difference = await on_aws.send(path, form)
    assert "Change User?" in shown(difference.text)
    form.pop("table_name")
    assert (await on_aws.send(path, form | {"confirmed": "1"})).status_code == 303
    assert await name_of(on_aws) == "Grace"


async def test_counting_asks_for_no_name(on_aws: Visitor) -> None:
    answer = await on_aws.send("/sample/app", {"form_token": await on_aws.token()})
    assert answer.status_code == 303


async def test_a_command_has_the_names_of_the_tables() -> None:
    async with connect_async("http://127.0.0.1:9", tables={"app": "app-7"}, table_prefix="dev-") as db:
        command = Site.of(db, (app,), module="shop.model").command("plan")
    assert command == ("singletable plan shop.model --db http://127.0.0.1:9 --table-name=app=app-7 --table-prefix=dev-")
