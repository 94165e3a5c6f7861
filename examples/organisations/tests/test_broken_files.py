"""Organisation files broken in every way that we know: each is imported, or refused with its line, and then nothing of
it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.organisations.tests.files import FILES
from examples.organisations.tests.support import raw_items
from examples_shared.testing.refused_commands import check_refused, run
from examples_shared.testing.sampling import sampled
from organisations import organisations
from organisations.check import check
from organisations.cli import main
from organisations.model import OrganisationDetails
from singletable import Database, connect

BEFORE = "name: Acme\nadmins: [Ada]\nmembers: [grace]\nteams: {crew: {members: [grace], repos: {api: write}}}\n"
OK = b"admins: [ada]\n"
MANY = b"members: &m [%s]\nteams:\n" % b",".join(b"u%d" % n for n in range(20_000))
MANY += b"".join(b"  t%d: {members: *m}\n" % n for n in range(99))

REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "acme.yaml:1: there is nothing"),
    "only white space": (b" \n\n  \n", "acme.yaml:1: there is nothing"),
    "only a comment": (b"# an organisation\n", "acme.yaml:1: there is nothing"),
    "binary": (bytes(range(256)), "acme.yaml:2: this is not UTF-8 text"),
    "an image": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "acme.yaml:1: this is not UTF-8"),
    "NUL bytes": (OK + b"members: [gr\x00ace]\n", "acme.yaml:2: YAML holds no character '\\x00'"),
    "a control character": (OK + b"members: [gr\x1bace]\n", "acme.yaml:2: YAML holds no character '\\x1b'"),
    "latin 1": (OK + b"members: [z\xfcri]\n", "acme.yaml:2: this is not UTF-8 text"),
    "UTF-16": ("admins: [ada]\n".encode("utf-16"), "acme.yaml:1: this is not UTF-8 text"),
    "cut off in a character": (OK + "members: [ü".encode()[:-1], "acme.yaml:2: this is not UTF-8 text"),
    "cut off in a list": (OK + b"members: [grace, lin", "acme.yaml:2: no YAML"),
    "cut off in quotes": (OK + b"members: ['gra", "acme.yaml:2: no YAML"),
    "cut off in a team": (OK + b"teams: {crew: {mem", "acme.yaml:2: no YAML"),
    "tabs": (OK + b"teams:\n\tcrew: {}\n", "acme.yaml:3: no YAML"),
    "wrong indentation": (OK + b"teams:\n  a:\n    members: [x]\n   b: {}\n", "acme.yaml:5: no YAML"),
    "a list": (b"- ada\n- grace\n", "acme.yaml:1: not an organisation file"),
    "a text": (b"ada\n", "acme.yaml:1: not an organisation file"),
    "a number": (b"5\n", "acme.yaml:1: not an organisation file"),
    "JSON lines": (b'{"id": 1}\n{"id": 2}\n', "acme.yaml:2: no YAML"),
    "two documents": (OK + b"---\nadmins: [eve]\n", "acme.yaml:2: a second document begins"),
    "no known part": (b"name: Acme\n", "acme.yaml:1: not an organisation file"),
    "no admins": (b"name: Acme\nmembers: [ada]\n", "acme.yaml:1: no admins"),
    "an empty list of admins": (b"name: Acme\nadmins: []\n", "acme.yaml:2: no admins"),
    "admins that are null": (b"admins: null\nmembers: [ada]\n", "acme.yaml:1: no admins"),
    "admins that are a text": (b"admins: ada\n", "acme.yaml:1: admins is a list of logins"),
    "admins that are a mapping": (b"admins: {ada: yes}\n", "acme.yaml:1: admins is a list of logins"),
    "a login that is a list": (b"admins: [ada, [eve]]\n", "acme.yaml:1: a login of admins is not a text"),
    "a login that is a mapping": (OK + b"members:\n- login: eve\n", "acme.yaml:3: a login of members is not a text"),
    "an empty login": (OK + b"members:\n- grace\n-\n", "acme.yaml:4: a login of members is not a text"),
    "an empty login in quotes": (OK + b"members: ['']\n", "acme.yaml:2: a login of members"),
    "a login with a space": (OK + b"teams: {t: {members: ['a b']}}\n", "acme.yaml:2: login 'a b' of team 't'"),
    "a login with a line break": (OK + b'members: ["a\\nb"]\n', "acme.yaml:2: login 'a\\nb' of members"),
    "a login with a terminal's codes": (OK + b'members: ["\\e[31ma"]\n', "acme.yaml:2: login '\\x1b[31ma' of members"),
    "a login that turns the text around": (OK + 'members: ["a\u202eb"]\n'.encode(), "login 'a\\u202eb' of members"),
    "a right-to-left mark": (OK + 'teams: {"a\u200fb": {}}\n'.encode(), "acme.yaml:2: team 'a\\u200fb'"),
    "a login of two forms": (OK + "members: [e\u0301va]\n".encode(), "acme.yaml:2: login 'e\u0301va' of members"),
    "the Kelvin sign": (OK + "members: [\u212aay]\n".encode(), "acme.yaml:2: login '\u212aay' of members"),
    "a lone surrogate": (OK + b'members: ["a\\ud800b"]\n', "acme.yaml:2:"),
    "an endless login": (b"admins: [" + b"x" * 100_000 + b"]\n", "acme.yaml:1: login 'xxx"),
    "a team of two forms": (OK + "teams: {t: {}, e\u0301: {}}\n".encode(), "acme.yaml:2: team 'e\u0301': it is not in"),
    "a team too long for a key": (OK + b"teams: {'%s': {members: [%s]}}\n" % (b"%" * 200, b"b" * 99), "acme.yaml:2: a"),
    "a login too long for a key": (OK + b"members: ['%s']\n" % ("\U0001f389" * 254).encode(), "acme.yaml:2: a"),
    "a team without a name": (OK + b"teams: {'': {members: [x]}}\n", "acme.yaml:2: team ''"),
    "a team of spaces": (OK + b"teams: {'  ': {members: [x]}}\n", "acme.yaml:2: team '  '"),
    "a team with a control character": (OK + b'teams: {"a\\x07b": {}}\n', "acme.yaml:2: team 'a\\x07b'"),
    "a team of an endless name": (OK + b"teams:\n  ? " + b"t" * 3000 + b"\n  : {}\n", "acme.yaml:3: team 'ttt"),
    "a team called owner": (OK + b"teams:\n  x: {}\n  owner: {members: [eve]}\n", "acme.yaml:4: a team is called"),
    "teams that are a list": (OK + b"teams:\n- crew\n", "acme.yaml:3: teams is not a mapping"),
    "a team that is a list": (OK + b"teams:\n  crew: [ada]\n", "acme.yaml:3: team 'crew' is not a mapping"),
    "a team's members are a number": (OK + b"teams: {crew: {members: 5}}\n", "acme.yaml:2: members of team 'crew'"),
    "repos that are a list": (OK + b"teams: {t: {repos: [api]}}\n", "acme.yaml:2: repos of team 't' is not a mapping"),
    "a permission that is a list": (OK + b"teams: {t: {repos: {api: [w]}}}\n", "permission of repository 'api' of"),
    "a permission of two forms": (OK + "teams: {t: {repos: {a: e\u0301}}}\n".encode(), "of team 't': it is not in"),
    "a permission that is nothing": (OK + b"teams: {t: {repos: {api: }}}\n", "permission of repository 'api' of"),
    "a repository without a name": (OK + b"teams: {t: {repos: {'': read}}}\n", "acme.yaml:2: repository '' of team"),
    "a repository of two forms": (OK + "teams: {t: {repos: {e\u0301: read}}}\n".encode(), "acme.yaml:2: repository"),
    "a name that is a list": (OK + b"name: [Acme]\n", "acme.yaml:2: the organisation's name is not a text"),
    "an endless name": (OK + b"name: " + b"n" * 5000 + b"\n", "acme.yaml:2: the organisation's name: it has more than"),
    "a key twice": (OK + b"members: [x]\nadmins: [eve]\n", "acme.yaml:3: the key 'admins' stands twice"),
    "a team twice": (OK + b"teams:\n  a: {}\n  b: {}\n  a: {members: [x]}\n", "acme.yaml:5: the key 'a' stands twice"),
    "a key that is a list": (OK + b"? [a, b]\n: c\n", "acme.yaml:2: a key is a text"),
    "a mapping merged": (OK + b"x: &x {members: [eve]}\n<<: *x\n", "acme.yaml:3: mappings are not merged"),
    "an alias of nothing": (OK + b"members: *nobody\n", "acme.yaml:2: the alias 'nobody'"),
    "an alias of itself": (OK + b"teams: &t {a: {teams: *t}}\n", "acme.yaml:2: the alias 't': it would contain itself"),
    "an alias in a cycle": (OK + b"a: &a\n  b: &b\n    c: *a\n", "acme.yaml:4: the alias 'a': it would contain itself"),
    "an alias many times": (OK + MANY, "aliases stand for more than"),
    "a tag of Python": (b"admins: !!python/object/apply:os.getcwd []\n", "acme.yaml:1: the tag"),
    "a tag of bytes": (b"admins: [!!binary YWRh]\n", "acme.yaml:1: the tag"),
    "lists too deep": (b"admins: " + b"[" * 5000 + b"]" * 5000, "acme.yaml:1: more than 200 deep"),
    "teams too deep": (OK + b"teams: " + b"{t: {teams: " * 90 + b"{}" + b"}}" * 90, "acme.yaml:2: teams lie"),
    "too large": (OK + b"# " + b"x" * (5 << 20), "acme.yaml has more than 4194304 bytes"),
}  # fmt: skip

IMPORTED: dict[str, bytes] = {
    "a byte order mark": b"\xef\xbb\xbf" + OK,
    "CRLF": b"admins:\r\n- ada\r\nteams:\r\n  crew:\r\n    members:\r\n    - grace\r\n",
    "no last line break": b"admins: [ada]",
    "a login twice": b"admins: [ada, ada]\nmembers: [grace, grace]\n",
    "a login in two cases": b"admins: [Ada]\nmembers: [ADA, ada]\nteams: {t: {members: [aDa], maintainers: [adA]}}\n",
    "somebody in a team alone": OK + b"teams: {t: {members: [stranger]}}\n",
    "a team without people": OK + b"teams: {t: {}, u: , v: null, w: {members: }}\n",
    "every permission": OK
    + b"teams: {t: {members: [ada], repos: {a: none, b: read, c: triage, d: write, e: maintain, f: admin}}}\n",
    "numbers, dates and truths": OK + b"members: [1, -1, 1.5, 2026-01-01, yes, no, 0x1f, 1e999, .nan]\n",
    "an unknown part": OK + b"colour: {red: [1, 2]}\nteams: {t: {privacy: closed, previously: [u]}}\n",
    "emoji": OK + "teams: {'\U0001f469\u200d\U0001f680 crew': {members: [ada]}}\n".encode(),
    "an alias": b"admins: &a [ada]\nmembers: *a\n",
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"local:{tmp_path_factory.mktemp('broken')}/organisations.db"


@pytest.fixture(scope="module")
def db(target: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """With an organisation that a broken file would spoil."""
    good = tmp_path_factory.mktemp("good") / "acme.yaml"
    good.write_text(BEFORE)
    with connect(target) as db:
        db.create_table(organisations)
        assert run(main, "--db", target, "import", str(good)).code == 0
        yield db


@pytest.mark.parametrize("how", REFUSED)
def test_a_broken_file_is_refused_whole(how: str, target: str, db: Database, tmp_path: Path) -> None:
    content, where = REFUSED[how]
    path = tmp_path / "acme.yaml"
    path.write_bytes(content)
    before = raw_items(db)
    check_refused(run(main, "--db", target, "import", str(path)), where)
    assert raw_items(db) == before


@pytest.mark.parametrize("how", IMPORTED)
def test_an_odd_file_is_imported_whole(how: str, target: str, db: Database, tmp_path: Path) -> None:
    path = tmp_path / f"odd-{list(IMPORTED).index(how)}.yaml"
    path.write_bytes(IMPORTED[how])
    told = run(main, "--db", target, "import", str(path))
    assert told.code == 0, told.error
    assert check(db) == []


def test_a_permission_that_nobody_knows_is_refused_reported_or_kept(target: str, db: Database, tmp_path: Path) -> None:
    path = tmp_path / "fly.yaml"
    path.write_bytes(OK + b"teams:\n  t:\n    members: [ada]\n    repos: {api: fly, web: read}\n")
    before = raw_items(db)
    refused = run(main, "--db", target, "import", str(path))
    check_refused(refused, "fly.yaml:")
    assert "is 'fly', none of none, read, triage" in refused.error
    assert "--unknown report leaves it out, --unknown keep takes it as it is" in refused.error
    assert raw_items(db) == before
    for choice, groups in (("report", {"web"}), ("keep", {"api", "web"})):
        told = run(main, "--db", target, "import", str(path), "--unknown", choice)
        assert told.code == 0, told.error
        assert "1 unknown value " + ("left out" if choice == "report" else "kept") in told.out
        details = db.get(OrganisationDetails.by_id("fly").consistent())
        assert details is not None
        assert {each.service_id for each in details.services} == groups
    assert check(db) == []


def test_a_published_file_with_orgs_on_top_is_imported_as_it_is(target: str, db: Database, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    settings = "    billing_email: x@x.org\n    has_organization_projects: true\n"
    one = "  {0}:\n    name: The {0}\n" + settings + "    admins: [ada]\n"
    path.write_text("orgs:\n" + one.format("first") + "    teams: {t: {members: [grace]}}\n" + one.format("second"))
    told = run(main, "--db", target, "import", str(path))
    assert told.code == 0, told.error
    for id in ("first", "second"):
        details = db.get(OrganisationDetails.by_id(id).consistent())
        assert details is not None
        assert details.organisation.organisation_name == f"The {id}"
        assert re.search(rf"imported {id}: \d people", told.out)
    assert db.get(OrganisationDetails.by_id("config").consistent()) is None
    assert check(db) == []
    before = raw_items(db)
    for wrong, where in ((b"orgs:\n- a\n", "config.yaml:2: orgs is not"), (b"orgs: {a: {}}\n", "not an organisation")):
        path.write_bytes(wrong)
        check_refused(run(main, "--db", target, "import", str(path)), where)
    path.write_text("orgs:\n" + one.format("third") + "  fourth: {members: [x]}\n")
    check_refused(run(main, "--db", target, "import", str(path)), "config.yaml:7: no admins")
    assert raw_items(db) == before


@pytest.mark.parametrize("name", [b"a\xffb.yaml", "e\u0301.yaml".encode(), b"a\x07b.yaml", b"x" * 240 + b".yaml"])
def test_a_file_whose_name_is_no_id_is_refused(name: bytes, target: str, db: Database, tmp_path: Path) -> None:
    path = Path(f"{tmp_path}/{name.decode('utf-8', 'surrogateescape')}")
    path.write_bytes(OK)
    before = raw_items(db)
    told = run(main, "--db", target, "import", str(path))
    assert told.code == 1
    assert "an organisation's id is its file's name, and it" in told.error
    assert raw_items(db) == before


@pytest.mark.skipif(not FILES, reason="the folder of real organisation files is not here")
@pytest.mark.parametrize("part", sampled([0.1, 0.35, 0.6, 0.85, 0.999], 2))
def test_a_real_file_cut_off_anywhere_is_imported_or_refused(
    part: float, target: str, db: Database, tmp_path: Path
) -> None:
    for file in FILES:
        content = file.read_bytes()
        path = tmp_path / file.name
        path.write_bytes(content[: int(len(content) * part)])
        before = raw_items(db)
        told = run(main, "--db", target, "import", str(path))
        if told.code:
            check_refused(told, f"{file.name}:")
            assert raw_items(db) == before
    assert check(db) == []
