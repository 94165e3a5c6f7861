"""What a notebook shows, and a page as a sequence: escaped, covered, bounded; in both shells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter

from singletable import Entity, Key, Page, Table, attr, field
from singletable.html_table import MOST_CHARACTERS, MOST_COLUMNS, MOST_ROWS, html_table
from singletable.schema.notebook import items_html
from tests.support.models import Membership, User, membership
from tests.support.shells import Shell

HOSTILE = "<script>alert(1)</script> & \"'\u202e\u0007\ud800"
app = Table("notebooks")


class Patient(Entity, table=app, type="patient"):
    number: int
    name: str = field(personal=True)
    ward: str = ""

    @app.key
    @staticmethod
    def of(number: int) -> Key:
        """A patient by their number."""
        return f"patient#{number}", "patient"


class Tags(HTMLParser):
    """The tags and the text of a piece of HTML; fails where they don't close each other."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[Any]) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_text_is_shown_as_text() -> None:
    shown = Patient(number=1, name="x", ward=HOSTILE)._repr_html_()
    shown.encode()
    tags = Tags(shown)
    assert set(tags.seen) == {"table", "caption", "bdi", "tbody", "tr", "th", "td"}
    assert "<script>alert(1)</script> & \"'���" in tags.text


def test_personal_attributes_are_covered() -> None:
    patients = [Patient(number=n, name="Ada Lovelace", ward="west") for n in range(3)]
    for shown in (patients[0]._repr_html_(), Page(patients)._repr_html_()):
        assert "Lovelace" not in shown
        assert "‹personal›" in shown
        assert "west" in shown
    mixed = Page([patients[0], User(email="ada@example.org", name="Ada")])._repr_html_()
    assert "Lovelace" not in mixed
    assert "ada@example.org" in mixed


def test_a_table_is_bounded() -> None:
    many = html_table("c" * 999, [f"n{n}" for n in range(99)], [["x" * 9999] * 99] * 999)
    tags = Tags(many)
    assert (tags.seen.count("tr"), tags.seen.count("td")) == (MOST_ROWS + 1, MOST_ROWS * MOST_COLUMNS)
    assert max(map(len, re.findall("x+", many))) == MOST_CHARACTERS
    assert "949 more rows; 79 more columns" in tags.text


def test_attributes_that_were_not_loaded_are_left_out() -> None:
    part = Patient(number=1, name="x", ward="west")
    del part.__dict__["ward"]
    assert "ward" not in part._repr_html_()
    assert "ward" in items_html([part], "")


async def test_a_page_is_a_sequence(shell: Shell) -> None:
    every = [membership(n) for n in range(7)]
    await shell.write_many(puts=every)
    page = await shell.page(Membership.of_user("ada@example.org"), limit=5)
    assert isinstance(page, Sequence)
    assert (page[0], page[-1], page[1:3], len(page)) == (every[0], every[4], every[1:3], 5)
    assert every[2] in page
    assert (list(page), list(reversed(page))) == (every[:5], every[4::-1])
    assert page == Page(tuple(every[:5]))
    assert page != every[:5]
    assert "there is a next page" in page._repr_html_()
    last = await shell.page(Membership.of_user("ada@example.org"), limit=5, after=page.cursor)
    assert (list(last), last.cursor) == (every[5:], None)
    assert "the last page" in last._repr_html_()
    assert "0 items" in Page[User](())._repr_html_()


class MembershipOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    org_id: str


async def test_pydantic_takes_a_page_as_a_type(shell: Shell) -> None:
    every = [membership(n) for n in range(3)]
    await shell.write_many(puts=every)
    page = await shell.page(Membership.of_user("ada@example.org"), limit=2)
    whole, part = TypeAdapter(Page[Membership]), TypeAdapter(Page[MembershipOut])
    back = whole.validate_json(whole.dump_json(whole.validate_python(page)))
    assert back == page
    after = await shell.page(Membership.of_user("ada@example.org"), after=back.cursor)
    assert list(after) == every[2:]
    shown = part.dump_python(part.validate_python(page, from_attributes=True))
    assert shown["items"] == [{"org_id": "o0000"}, {"org_id": "o0001"}]
    assert whole.json_schema(mode="serialization")["required"] == ["items", "cursor"]
    with pytest.raises(ValueError, match="cursor"):
        whole.validate_json('{"items": []}')


async def test_queries_and_meters_show_what_they_are(shell: Shell) -> None:
    query = Membership.of_user("secret@example.org").where(attr(Membership.role) == "secret").newest_first()
    explained = shell.explain(query)
    with shell.meter() as meter:
        await shell.page(query)
    for each in (query, explained, explained[0], meter):
        shown = each._repr_html_()
        assert "secret" not in shown
        Tags(shown)
    assert "pk = :0 AND sk BETWEEN :1 AND :2; filter: role = :3" in explained._repr_html_()
    assert "<bdi>Query</bdi></td><td><bdi>1</bdi>" in meter._repr_html_()


def test_reprs_say_what_they_are() -> None:
    query = Membership.of_user("secret@example.org").where(attr(Membership.role) == "secret").newest_first()
    assert repr(query) == "<KeyOf Membership.of_user user#{email} / member#{org_id}, filtered, newest first>"
    assert repr(User.by_email("secret").only(User.name).consistent()).endswith(" / user, consistent, only name>")
    present: Any = User.address
    assert (repr(User.age), str(User.age)) == ("<attribute User.age>", "User.age")
    assert repr(attr(present.city)) == "<attr(User.address.city)>"
    assert repr(attr(User.name).size() == 3) == "<size of User.name == ...>"


def test_completion_offers_what_there_is() -> None:
    address: Any = User.address
    assert {"by_email", "age", "address"} <= set(dir(User))
    assert dir(address) == ["city", "zip"]
    assert dir(User.age) == []
    assert dir(address.nowhere) == []
