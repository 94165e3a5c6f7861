"""`get`, `query` and `explain` over every access pattern of the four applications, with what a person would type."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings, strategies as st

import goals.sample
import goals.service
import manhunt.sample
import manhunt.service
import organisations.walkthrough
import projects.service
from singletable import Database, KeyOf, Table, connect
from singletable.cli.app import app
from singletable.documents import LocalBlobs
from singletable.operations import Item
from singletable.schema.attached_items import models_of
from singletable.schema.catalogue import AccessPattern, catalogue, collections_of, entity_name
from singletable.schema.models import Model
from tests.support.raw import all_items

MODULES = {
    "organisations": "organisations.model",
    "goals": "goals.model",
    "projects": "projects.model",
    "manhunt": "manhunt.model",
}


def table_of(module: str) -> Table:
    found = {id(v): v for v in vars(importlib.import_module(module)).values() if isinstance(v, Table)}
    (table,) = found.values()
    return table


PATTERNS = [(module, p) for module in MODULES.values() for p in catalogue(table_of(module), system=True)]
NAMED = [f"{module.split('.')[1]} {p.entity}.{p.name}" for module, p in PATTERNS]


def fill(db: Database, blobs: Path) -> None:
    """What each application's own sample writes."""
    goals.sample.load_sample(goals.service.Service(db))
    rota = manhunt.service.Service(db)
    contacts = manhunt.sample.load_sample(rota, "d1")
    rota.open_search("d1", contacts[0].contact_id, {"summary": "the lamp is out"})
    (policy,) = rota.policies_of_domain("d1").items
    rota.open_incident("d1", policy.policy_id, "the lamp is out", alarm_key="lamp")
    assert list(organisations.walkthrough.walkthrough(db))
    boards = projects.service.Service(db, LocalBlobs(blobs))
    boards.create_board("acme", "b1", "A board", "")


@dataclass(frozen=True)
class Bench:
    """The command line over one data file with all four applications' samples in it."""

    target: str
    items: dict[str, list[tuple[Model[Any], Item, Any]]]

    def run(self, *arguments: str) -> Result:
        """In this process: an error that the program does not handle is raised here."""
        done = CliRunner().invoke(app, ["--db", self.target, *arguments], catch_exceptions=False)
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    place = tmp_path_factory.mktemp("applications")
    target = f"local:{place / 'data.db'}"
    with connect(target) as db:
        fill(db, place / "blobs")
        found: dict[str, list[tuple[Model[Any], Item, Any]]] = {}
        for module in MODULES.values():
            table = table_of(module)
            items = db.run(all_items(db.port, table.name))
            models = {model.type: model for model in models_of(table)}
            typed = ((models.get(item[table.definition.type_attribute]["S"]), item) for item in items)
            found[module] = [(model, item, model.load(item)) for model, item in typed if model is not None]
        yield Bench(target, found)


def word_of(value: Any) -> str:
    """A value as a person types it."""
    if isinstance(value, KeyOf):
        return value.partition
    if isinstance(value, Enum):
        return value.name
    return value.isoformat() if isinstance(value, datetime) else str(value)


def example_of(bench: Bench, module: str, pattern: AccessPattern) -> tuple[list[str], Any] | None:
    """Words for a pattern that finds something in the sample, and what it is to find."""
    collected = {(k.__name__, n): entity_name(b.pattern.captured.owner) for k, n, b in collections_of(table_of(module))}
    owner = collected.get((pattern.entity, pattern.name), pattern.entity)
    for model, _, entity in bench.items[module]:
        if entity is None or entity_name(model.kind) != owner:
            continue
        if pattern.name == "of":
            return [f"source={word_of(entity.source)}", f"kind={entity.target.kinds[0].__name__}"], entity
        values = [getattr(entity, p.name) for p in pattern.parameters]
        if all(value is not None for value in values):
            return [f"{p.name}={word_of(value)}" for p, value in zip(pattern.parameters, values, strict=True)], entity
    return None


def made_up(pattern: AccessPattern) -> list[str]:
    """Words of the right types, for a pattern whose items the samples have none of."""
    words = {"str": "x", "int": "1", "date": "2026-01-31", "datetime": "2026-01-31T09:30:00Z", "type[Goal]": "Goal"}
    every = {
        **words,
        "ValueText": "x",
        "TaskState": "DUE",
        "Status": "ACTIVE",
        "Role": "LEAD",
        "TeamRole": "MEMBER",
        "Goal": "g",
        "User": "u",
    }
    return [f"{p.name}={every[p.type]}" for p in pattern.parameters]


@pytest.mark.parametrize(("module", "pattern"), PATTERNS, ids=NAMED)
def test_every_pattern_that_is_listed_can_be_asked(bench: Bench, module: str, pattern: AccessPattern) -> None:
    found = example_of(bench, module, pattern)
    words = made_up(pattern) if found is None else found[0]
    named = f"{pattern.entity}.{pattern.name}"
    explained = bench.run("explain", module, named, *words, "--json")
    assert explained.exit_code == 0, explained.stderr
    assert all(request["table"] == pattern.table for request in json.loads(explained.stdout))
    got = bench.run("get", module, named, *words, "--json")
    queried = bench.run("query", module, named, *words, "--json")
    if pattern.kind == "collection":
        assert (got.exit_code, queried.exit_code) == (0 if found else 1, 2), got.stderr
        return
    assert queried.exit_code == 0, queried.stderr
    items = json.loads(queried.stdout)["items"]
    assert len(items) >= (found is not None)
    if pattern.kind == "index" or pattern.name == "of":
        assert got.exit_code == 2
        assert "use `singletable query`" in got.stderr
    elif found is None:
        assert got.exit_code == 1
        assert "nothing is found under" in got.stderr
    else:
        assert got.exit_code == 0, got.stderr
        assert json.loads(got.stdout) == items[0]
    for format in ((), ("--all",), ("--limit", "1", "--newest-first")):
        shown = bench.run("query", module, named, *words, *format)
        assert shown.exit_code == 0, shown.stderr


def test_the_samples_hold_most_of_them(bench: Bench) -> None:
    """So that the test above is about reading."""
    missing = [name for name, (module, p) in zip(NAMED, PATTERNS, strict=True) if not example_of(bench, module, p)]
    assert len(missing) < len(PATTERNS) / 2, missing


def test_words_by_place_and_open_ends(bench: Bench) -> None:
    goals = "goals.model"
    rank = bench.run("query", goals, "GoalMembership.by_rank", "USER-U1", "--json")
    leads = bench.run("query", goals, "GoalMembership.by_rank", "USER-U1", "LEAD", "--json")
    every, some = json.loads(rank.stdout)["items"], json.loads(leads.stdout)["items"]
    assert every
    assert some == [edge for edge in every if edge["role"] == "LEAD"]
    assert all(edge["target"] == "USER-U1" and edge["source"].startswith("GOAL-") for edge in every)
    source = every[0]["source"]
    of = json.loads(bench.run("query", goals, "GoalMembership.of", source, "--json").stdout)["items"]
    to_users = json.loads(bench.run("query", goals, "GoalMembership.of", source, "USER", "--json").stdout)["items"]
    assert [e for e in of if e["target"].startswith("USER-")] == to_users != []
    plain = bench.run("query", goals, "GoalMembership.of", source.removeprefix("GOAL-"), "kind=User", "--json")
    assert json.loads(plain.stdout)["items"] == to_users
    one = bench.run("get", goals, "GoalMembership.between", source, "USER-U1", "--json", "--consistent")
    assert json.loads(one.stdout) == every[0]
    shown = bench.run("get", goals, "GoalMembership.between", source, "USER-U1")
    assert source in shown.stdout
    assert json.loads(bench.run("get", goals, "Goal.by_id", source[5:], "--json").stdout)["id"] == source[5:]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("GoalMembership.by_rank", "ada"), "the key of a node, as in USER-<id>, TEAM-<id>, ORGANISATION-<id>"),
        (("GoalMembership.by_rank", "GOAL-g1"), "the key of a node"),
        (("GoalMembership.by_rank", "USER-a", "BOSS"), "it is one of LEAD, CONTRIBUTOR, TEAM"),
        (("GoalMembership.of",), "GoalMembership.of SOURCE [KIND]: source is missing."),
        (("GoalMembership.of", "g1", "Goal"), "a class of nodes: USER, TEAM, ORGANISATION"),
        (("GoalMembership.of", "g1", "before:USER"), "ranges are not allowed"),
        (("GoalMembership.between", "g1", "after:USER-a"), "ranges are not allowed"),
        (("GoalMembership.between", "g1"), "target is missing"),
        (("Goal.by_id",), "Goal.by_id ID: id is missing."),
        (("Goal.by_id", "\n"), "control"),
        (("Goal.by_id", "x", "y"), "an unexpected argument"),
        (("Goal.nothing", "x"), "has no access pattern"),
        (("Goal", "x"), "has no access pattern"),
        ((".by_id", "x"), "has no entity or collection"),
        (("", "x"), "has no entity or collection"),
        (("...", "x"), "has no entity or collection"),
    ],
)
@pytest.mark.parametrize("command", ["get", "query", "explain"])
def test_what_is_wrong_is_said_in_one_line(bench: Bench, command: str, words: tuple[str, ...], said: str) -> None:
    ran = bench.run(command, "goals.model", *words)
    assert ran.exit_code in (1, 2)
    assert said in ran.stderr
    assert not ran.stdout


def test_two_classes_of_one_name(bench: Bench) -> None:
    ran = bench.run("explain", "projects.model", "Listing.by_document", "b1")
    assert ran.exit_code == 2
    assert "Project.Listing.by_document or Repository.Listing.by_document" in ran.stderr
    listed = json.loads(bench.run("patterns", "projects.model", "--json").stdout)
    names = [f"{p['entity']}.{p['name']}" for p in listed]
    assert len(set(names)) == len(names)


AWKWARD = ["", "-", "=", "a=b", "x", "1", "-1", "9" * 5000, "1e999999", "NaN", "Infinity", "USER-", "-USER", "USER-a-b"]
AWKWARD += [
    "before:",
    "between:,",
    "between:9,1",
    "between:a",
    "starting-with:",
    "exactly:",
    "after:0001-01-01",
    "at-most:x",
]
AWKWARD += [
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-01-01",
    "2026-13-01",
    "\udcff",
    "\n",
    "%",
    "\u202e",
]
AWKWARD += [
    "x" * 3000,
    "None",
    "ANY",
    "e\u0301",
    "\ud800",
    "\U0010ffff",
    "#",
    "//",
    "kind=USER",
    "source=GOAL-g",
    "id=",
    "id=x",
]
words_ = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(max_size=12),
    st.builds("{}:{}".format, st.sampled_from(["before", "between", "exactly"]), st.text(max_size=8)),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    chosen=st.sampled_from(PATTERNS),
    command=st.sampled_from(["get", "query", "explain"]),
    words=st.lists(words_, max_size=4),
    options=st.lists(
        st.sampled_from(["--newest-first", "--consistent", "--json", "--all", "--after=x", "--limit=1"]), max_size=2
    ),
)
def test_no_words_end_in_a_traceback(
    bench: Bench, chosen: tuple[str, AccessPattern], command: str, words: list[str], options: list[str]
) -> None:
    module, pattern = chosen
    ran = bench.run(command, *options, module, f"{pattern.entity}.{pattern.name}", "--", *words)
    assert ran.exit_code in (0, 1, 2)
    if ran.exit_code:
        assert ran.stderr.strip()


NO_MODULES = [
    "",
    ".",
    "..",
    ".x",
    "a b",
    "nope",
    "nope.py",
    "/",
    "/dev",
    "tests",
    "os",
    "examples",
    "examples/goals",
]
NO_MODULES += ["goals.model:", "goals.model:nope", "goals.model.", ":", "x:y:z", "\udcff"]


@pytest.mark.parametrize("module", NO_MODULES)
@pytest.mark.parametrize("command", ["get", "query", "explain", "patterns"])
def test_no_module_ends_in_a_traceback(bench: Bench, command: str, module: str) -> None:
    words = () if command == "patterns" else ("Goal.by_id", "x")
    ran = bench.run(command, module, *words)
    assert ran.exit_code in (1, 2)
    assert ran.stderr.strip()


def test_a_module_that_ends_the_program_is_named(bench: Bench, tmp_path: Path) -> None:
    for number, text in enumerate(
        ("raise SystemExit(0)", "import sys; sys.exit('bye')", "def", "1/0", "raise KeyError")
    ):
        path = tmp_path / f"ending{number}.py"
        path.write_text(text)
        ran = bench.run("patterns", str(path))
        assert ran.exit_code == 1
        assert "can't be imported" in ran.stderr


@pytest.mark.parametrize(
    "target", ["local:", "nope", "http://", "http://x:y", "https://[", "ftp://x", "local:/", "local:/dev/null/x", ""]
)
def test_no_target_ends_in_a_traceback(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SINGLETABLE_DB", raising=False)
    monkeypatch.chdir(tmp_path)
    arguments = ["--db", target, "get", "goals.model", "Goal.by_id", "x"]
    ran = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert ran.exit_code in (1, 2)
    assert ran.stderr.strip()
