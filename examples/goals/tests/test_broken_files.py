"""Files of enhancements broken in every way that we know: each is imported, or refused with its line, and then nothing
of it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.goals.tests.file import FILE, NEEDS_FILE
from examples.goals.tests.support import enhancement, text_of
from examples_shared.testing.refused_commands import check_refused, run
from goals import records
from goals.cli import main
from goals.model import Goal, KeyResult
from singletable import Database, connect
from tests.support.raw import all_items

GOOD = text_of(enhancement("1-a"), enhancement("2-b", milestone={"alpha": "v1"}))


def line(**said: Any) -> bytes:
    """A good line, and one that says this."""
    return text_of(enhancement("1-a"), enhancement("9-z") | said).encode()


def without(name: str) -> bytes:
    said = enhancement("9-z")
    del said[name]
    return text_of(enhancement("1-a"), said).encode()


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "bad.jsonl:1: there is nothing"),
    "only white space": (b"\n  \n\r\n", "bad.jsonl:1: there is nothing"),
    "binary": (bytes(range(256)), "bad.jsonl:2: this is not UTF-8 text"),
    "NUL bytes": (GOOD.encode() + b"\x00\x00\n", "bad.jsonl:3: no JSON"),
    "a control character": (line(title="a\x01b").replace(b"\\u0001", b"\x01"), "bad.jsonl:2: no JSON"),
    "latin 1": (line(title="zuri").replace(b"zuri", b"z\xfcri"), "bad.jsonl:2: this is not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), "bad.jsonl:1: this is not UTF-8 text"),
    "cut off": (GOOD.encode()[:-20], "bad.jsonl:2: no JSON"),
    "cut off in a character": (b'{"id": "\xc3', "bad.jsonl:1: this is not UTF-8 text"),
    "two objects in a line": (GOOD.replace("\n", "").encode(), "bad.jsonl:1: no JSON"),
    "a list of objects": (json.dumps([enhancement("1-a")]).encode(), "bad.jsonl:1: no object with an id"),
    "an object over several lines": (json.dumps(enhancement("1-a"), indent=1).encode(), "bad.jsonl:1: no JSON"),
    "YAML": (b"id: 1-a\ntitle: x\n", "bad.jsonl:1: no JSON"),
    "a text": (GOOD.encode() + b'"1-a"\n', "bad.jsonl:3: no object with an id"),
    "null": (GOOD.encode() + b"null\n", "bad.jsonl:3: no object with an id"),
    "a number": (b"5\n", "bad.jsonl:1: no object with an id"),
    "no number": (line(number=float("nan")), "bad.jsonl:2: no JSON: NaN is not a number"),
    "an endless number": (b'{"id": ' + b"9" * 5000 + b"}\n", "bad.jsonl:1: no JSON"),
    "too deep": (b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "bad.jsonl:1: no JSON"),
    "an id twice": (text_of(*[enhancement(id) for id in ("1-a", "2-b", "1-a")]).encode(), "bad.jsonl:3: the id '1-a'"),
    "no id": (without("id"), "bad.jsonl:2: no object with an id"),
    "an id that is a number": (line(id=7), "bad.jsonl:2: no object with an id"),
    "an empty id": (line(id=""), "bad.jsonl:2: the id '': it is empty"),
    "an id of spaces": (line(id="   "), "bad.jsonl:2: the id '   ': it is empty"),
    "an endless id": (line(id="x" * 3000), "bad.jsonl:2: the id 'xxx"),
    "an id with a line break": (line(id="a\nb"), "bad.jsonl:2: the id 'a\\nb'"),
    "an id of two forms": (line(id="e\u0301"), "bad.jsonl:2: the id"),
    "an id too long for keys": (line(id="\U0001f389" * 150), "bad.jsonl:2: the id"),
    "an id with a lone surrogate": (line(id="a\ud800"), "bad.jsonl:2: the id 'a\\ud800'"),
    "an id that turns the text around": (line(id="a\u202eb"), "bad.jsonl:2: the id 'a\\u202eb'"),
    "a name twice in an object": (b'{"id": "1-a", "id": "2-b"}\n', "bad.jsonl:1: no JSON: the name 'id' stands twice"),
    "a stage twice": (line().replace(b'"milestone": {}', b'"milestone": {"beta": "1", "beta": "2"}'), "'beta' stands"),
    "no title": (without("title"), "bad.jsonl:2: '9-z': title is not a text"),
    "an empty title": (line(title=""), "bad.jsonl:2: '9-z': title is not a text"),
    "a title that is a list": (line(title=["x"]), "bad.jsonl:2: '9-z': title is not a text"),
    "an endless title": (line(title="x" * 500_000), "bad.jsonl:2: '9-z': title has more than"),
    "a title with a terminal's codes": (line(title="\x1b[31mred"), "bad.jsonl:2: '9-z': title: it holds"),
    "a title with a lone surrogate": (line(title="\udfff"), "bad.jsonl:2: '9-z': title: it holds"),
    "a status that is null": (line(status=None), "bad.jsonl:2: '9-z': status is not a text"),
    "a stage that is a list": (line(stage=["beta"]), "bad.jsonl:2: '9-z': stage is not a text"),
    "a date that is a number": (line(created=20260101), "bad.jsonl:2: '9-z': created is not a text"),
    "a day that no calendar has": (line(created="2026-02-30"), "bad.jsonl:2: '9-z': created is '2026-02-30'"),
    "a month that no calendar has": (line(created="2026-13-01"), "bad.jsonl:2: '9-z': created is '2026-13-01'"),
    "a year that no calendar has": (line(created="99999-01-01"), "bad.jsonl:2: '9-z': created is '99999-01-01'"),
    "an endless year": (line(created="9" * 6000 + "-1-1"), "bad.jsonl:2: '9-z': created is '999"),
    "no team": (without("owning_sig"), "bad.jsonl:2: '9-z': owning_sig is not a text"),
    "an empty team": (line(owning_sig=""), "bad.jsonl:2: '9-z': owning_sig is not a text"),
    "a team of spaces": (line(owning_sig=" "), "bad.jsonl:2: '9-z': ' ' of owning_sig: it is empty"),
    "teams that are a text": (
        line(participating_sigs="sig-two"),
        "bad.jsonl:2: '9-z': participating_sigs is not a list",
    ),
    "people that are an object": (line(authors={"ada": 1}), "bad.jsonl:2: '9-z': authors is not a list"),
    "people that are a text": (line(reviewers="ada"), "bad.jsonl:2: '9-z': reviewers is not a list"),
    "somebody who is a number": (line(approvers=["ada", 5]), "bad.jsonl:2: '9-z': approvers holds what is not a text"),
    "somebody who is null": (line(authors=[None]), "bad.jsonl:2: '9-z': authors holds what is not a text"),
    "somebody without a name": (line(authors=["ada", ""]), "bad.jsonl:2: '9-z': authors holds what is not a text"),
    "somebody of two forms": (line(authors=["E\u0301va"]), "'9-z': 'E\u0301va' of authors: it is not in"),
    "somebody with a control character": (line(authors=["a\x00b"]), "'9-z': 'a\\x00b' of authors: it holds"),
    "somebody with a right-to-left mark": (line(authors=["a\u200fb"]), "'9-z': 'a\\u200fb' of authors: it holds"),
    "somebody of an endless name": (line(authors=["x" * 2000]), "'9-z': 'xxx"),
    "too many people": (line(authors=[f"u{n}" for n in range(1001)]), "'9-z': authors has more than 1000"),
    "links that are a number": (line(see_also=5), "bad.jsonl:2: '9-z': see_also is not a list"),
    "a link that is an object": (line(replaces=[{}]), "bad.jsonl:2: '9-z': replaces holds what is not a text"),
    "milestones that are a list": (line(milestone=["beta"]), "bad.jsonl:2: '9-z': milestone is not an object"),
    "milestones that are a text": (line(milestone="beta"), "bad.jsonl:2: '9-z': milestone is not an object"),
    "a stage that nobody knows": (line(milestone={"gamma": "v1"}), "bad.jsonl:2: '9-z': milestone names 'gamma'"),
    "a release that is a number": (line(milestone={"beta": 1.20}), "bad.jsonl:2: '9-z': beta is not a text"),
    "a release below zero": (line(milestone={"beta": -1}), "bad.jsonl:2: '9-z': beta is not a text"),
    "a release that is a list": (line(milestone={"beta": ["v1"]}), "bad.jsonl:2: '9-z': beta is not a text"),
    "the id of a milestone": (
        text_of(enhancement("1-a", milestone={"beta": "v1"}), enhancement("1-a-beta")).encode(),
        "bad.jsonl:2: the id '1-a-beta' is also that of a milestone of '1-a' in line 1",
    ),
    "too large": (GOOD.encode() + b" " * (65 << 20), "bad.jsonl has more than"),
}

IMPORTED: dict[str, bytes] = {
    "a byte order mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "CRLF": GOOD.replace("\n", "\r\n").encode(),
    "no last line break": GOOD.strip().encode(),
    "empty lines": GOOD.replace("\n", "\n\n \n").encode(),
    "an empty date": line(created=""),
    "a date that is null": line(created=None),
    "no date": without("created"),
    "a template's date": line(created="yyyy-mm-dd"),
    "somebody twice, in every field": line(authors=["ada", "ada"], reviewers=["ada"], approvers=["ada"]),
    "somebody in two cases": line(authors=["Ada", "ada", "ADA"]),
    "a link to itself": line(see_also=["x/9-z"], replaces=["9-z"]),
    "a link to nobody": line(see_also=["x/77-nowhere", "", "/"][:1]),
    "links in a circle": text_of(enhancement("1-a", replaces=["2-b"]), enhancement("2-b", replaces=["1-a"])).encode(),
    "lists that are null": line(participating_sigs=None, authors=None, reviewers=None, see_also=None, milestone=None),
    "a stage that nobody knows": line(stage="alpha (deprecated)", milestone={"alpha": "v1"}),
    "an unknown field": line(number=-1.5e300, more={"x": [[]]}),
    "emoji, and other scripts": line(
        title="\U0001f469\u200d\U0001f680 \u05d0\u05d1 \u6f22", authors=["\u6f22\U0001f600"]
    ),
    "more people than an edge set holds": line(authors=[f"u{n}" for n in range(150)]),
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"local:{tmp_path_factory.mktemp('broken')}/goals.db"


@pytest.fixture(scope="module")
def db(target: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """With goals that a broken file would spoil."""
    good = tmp_path_factory.mktemp("good") / "good.jsonl"
    good.write_text(GOOD)
    with connect(target) as db:
        db.create_table(records)
        assert run(main, "--db", target, "import", str(good)).code == 0
        yield db
        assert db.check(records) == []


def dump(db: Database) -> list[str]:
    return sorted(json.dumps(item, sort_keys=True) for item in db.run(all_items(db.port, records.name)))


@pytest.mark.parametrize("how", REFUSED)
def test_a_broken_file_is_refused_whole(how: str, target: str, db: Database, tmp_path: Path) -> None:
    content, where = REFUSED[how]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    before = dump(db)
    check_refused(run(main, "--db", target, "import", str(path)), where)
    assert dump(db) == before


def test_a_stage_that_nobody_knows_is_refused_reported_or_kept(target: str, db: Database, tmp_path: Path) -> None:
    """One line of a real file refused all of its 647 goals."""
    path = tmp_path / "odd.jsonl"
    lines = [enhancement("7-odd", milestone={"beta": "v2", "disabled": "v3"}), enhancement("8-even")]
    path.write_bytes(text_of(*lines).encode())
    refused = run(main, "--db", target, "import", str(path))
    check_refused(refused, "odd.jsonl:1: '7-odd': milestone names 'disabled'")
    assert "--unknown report leaves it out, --unknown keep takes it as it is" in refused.error
    assert db.get(Goal.by_id("8-even")) is None
    told = run(main, "--db", target, "import", str(path), "--unknown", "report")
    assert "1 unknown value left out\n  " in told.out
    assert "odd.jsonl:1: '7-odd': milestone names 'disabled'" in told.out
    assert db.get(Goal.by_id("8-even")) is not None
    assert db.get(Goal.by_id("7-odd-disabled")) is None
    for _ in range(2):  # the second writes nothing
        kept = run(main, "--db", target, "import", str(path), "--unknown", "keep")
    assert "(0 new nodes, 0 changed goals)" in kept.out
    assert "1 unknown value kept\n" in kept.out
    goal = db.get(Goal.by_id("7-odd-disabled"))
    assert goal is not None
    assert (goal.title, goal.status) == ("Disabled in v3", "planned")
    edge = db.get(KeyResult.between(Goal.by_id("7-odd"), Goal.by_id("7-odd-disabled")))
    assert edge is not None
    assert edge.position == "5"
    assert db.check(records) == []


@pytest.mark.parametrize("how", IMPORTED)
def test_an_odd_file_is_imported_whole(how: str, target: str, db: Database, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(IMPORTED[how])
    told = run(main, "--db", target, "import", str(path))
    assert told.code == 0, told.error
    assert db.check(records) == []


@NEEDS_FILE
@pytest.mark.parametrize("part", [0.003, 0.01])
def test_the_real_file_cut_off_is_refused_with_the_line(part: float, target: str, db: Database, tmp_path: Path) -> None:
    content = FILE.read_bytes()
    path = tmp_path / "cut.jsonl"
    path.write_bytes(cut := content[: int(len(content) * part)])
    before = dump(db)
    lines = cut.count(b"\n") + 1
    check_refused(run(main, "--db", target, "import", str(path)), f"cut.jsonl:{lines}: no JSON")
    assert dump(db) == before
