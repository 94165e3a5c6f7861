"""`plan` and `apply`: exit codes, what is shown, the file of a review."""

from __future__ import annotations

import json

import pytest

from tests.e2e.cli.conftest import Folder
from tests.e2e.cli.test_tables import ELSEWHERE

MODEL = "shop/model.py"
AWS = {"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
NEWER = """

@Customer.upcast(1)
def with_city(item: dict[str, object]) -> dict[str, object]:
    return {"city": "Bern", **item}
"""


@pytest.fixture
def applied(folder: Folder) -> Folder:
    """A table as an apply made it, with the shop's sample in it."""
    assert folder.run("apply", "shop.model", "--by", "ada").code == 0
    assert folder.python("shop/sample.py", "local:data/singletable.db").code == 0
    return folder


def change(folder: Folder) -> None:
    """An index more, and a raised version."""
    path = folder.path / MODEL
    text = path.read_text().replace('indexes=["gsi1"]', 'indexes=["gsi1", "gsi2"]')
    path.write_text(text.replace('type="customer")', 'type="customer", version=2)') + NEWER)


def test_a_plan_and_its_apply(applied: Folder) -> None:
    same = applied.run("plan", "shop.model")
    assert (same.code, same.out) == (0, "shop: nothing to do\n")
    assert "shop: no items are read\n" in same.err
    change(applied)
    shown = applied.run("plan", "shop.model", "--price", "us-east-1", "--rate", "10")
    assert shown.code == 2
    assert "shop: reading the table: the service gives no size, so the cost is unknown\n" in shown.err
    assert shown.out.splitlines()[0] == "shop: 3 steps"
    assert "  1 add index gsi2: 1 request\n" in shown.out
    assert "rewrite items: customer to version 2\n" in shown.out
    assert "prices of us-east-1 as of 2025-" in shown.out
    planned = json.loads(applied.run("plan", "shop.model", "--json").out)[0]["steps"]
    ran = applied.run("apply", "shop.model", "--by", "ada", "--json")
    (outcome,) = json.loads(ran.out)
    assert ran.code == 0
    assert [done["step"]["takes"] for done in outcome["done"]] == [step["takes"] for step in planned]
    assert [(d["requests"], d["write_units"]) for d in outcome["done"]] == [
        (step["takes"]["requests"], step["takes"]["write_units"]) for step in planned
    ]
    assert applied.run("plan", "shop.model").code == 0
    again = applied.run("apply", "shop.model")
    assert (again.code, again.out) == (0, "shop: nothing to do\nshop: nothing to do\n")
    cities = json.loads(applied.run("query", "shop.model", "Customer.by_city", "Bern", "--json").out)
    assert cities["items"]


def test_an_apply_takes_what_a_plan_has_counted(applied: Folder) -> None:
    change(applied)
    assert applied.run("plan", "shop.model").code == 2
    (state,) = (applied.path / "state" / "singletable" / "plans").iterdir()
    assert state.stat().st_mode & 0o777 == 0o600
    again = applied.run("plan", "shop.model")
    assert "reading the table" in again.err  # a plan counts
    known = "shop: an earlier plan counted the items, at "
    ran = applied.run("apply", "shop.model")
    assert (ran.code, known in ran.err, "reading the table" in ran.err) == (0, True, False)


def test_an_apply_counts_again_or_takes_the_file_that_it_is_given(applied: Folder) -> None:
    change(applied)
    assert applied.run("plan", "shop.model", "--keep", "counts").code == 2
    assert list((applied.path / "state" / "singletable" / "plans").iterdir()) == []
    ran = applied.run("apply", "shop.model", "--keep", "counts", "--again")
    assert (ran.code, "reading the table" in ran.err) == (0, True)
    path = applied.path / MODEL
    path.write_text(path.read_text().replace("version=2", "version=3") + NEWER.replace("upcast(1)", "upcast(2)"))
    assert applied.run("plan", "shop.model", "--keep", "counts").code == 2
    ran = applied.run("apply", "shop.model", "--keep", "counts")
    assert (ran.code, "an earlier plan counted" in ran.err) == (0, True)


def test_what_an_upcaster_sets_is_lacked_by_no_item(applied: Folder) -> None:
    path = applied.path / MODEL
    newer = path.read_text().replace("    city: str | None = None", "    city: str")
    path.write_text(newer.replace('type="customer")', 'type="customer", version=2)') + NEWER)
    shown = applied.run("plan", "shop.model")
    (line,) = (line for line in shown.out.splitlines() if "attribute.required" in line)
    assert (shown.code, line.endswith("an item without it can't be read (attribute.required); of no item")) == (2, True)
    sampled = applied.run("plan", "shop.model", "--sample", "50%").out
    assert "(attribute.required)\n" in sampled  # it has not counted all


def test_a_plan_as_a_job(applied: Folder) -> None:
    """It shows the plan of its counts; a plan and an apply after it, here or elsewhere, read nothing."""
    change(applied)
    plain = applied.run("plan", "shop.model")
    ran = applied.run("plan", "shop.model", "--job", "--sections", "2")
    assert (ran.code, ran.out.splitlines()[0]) == (2, "shop: 2 steps")  # a local engine's index is there by now
    assert "rewrite items: customer to version 2\n" in ran.out
    assert "shop: reading the table: the service gives no size" in ran.err
    assert "shop: job plan-" in ran.err
    assert "an earlier plan" not in ran.err
    (job,) = json.loads(applied.run("job", "list", "shop.model", "--json").out)
    writes = json.loads(applied.run("plan", "shop.model", "--json").out)[0]["steps"][0]["takes"]["items"]
    assert (job["kind"], job["state"], job["result"]["writes"]) == ("plan", "ended", writes)
    assert f"  2 fill shop: {writes} writes" in plain.out
    late = applied.run("plan", "shop.model")
    assert ("reading the table" in late.err, "shop: an earlier plan counted the items, at" in late.err) == (False, True)
    assert "reading the table" in applied.run("plan", "shop.model", "--again").err
    (state,) = (applied.path / "state" / "singletable" / "plans").iterdir()
    state.unlink()  # as on another machine
    applied_now = applied.run("apply", "shop.model")
    assert (applied_now.code, "reading the table" in applied_now.err) == (0, False)
    nothing = applied.run("plan", "shop.model", "--job")
    assert (nothing.code, nothing.out, "no items are read" in nothing.err) == (0, "shop: nothing to do\n", True)


def test_a_plan_as_a_job_is_refused_as_a_plan(applied: Folder) -> None:
    path = applied.path / MODEL
    path.write_text(path.read_text().replace("total: Decimal", "total: bool"))
    plain = applied.run("plan", "shop.model")
    ran = applied.run("plan", "shop.model", "--job", "--sections", "1")
    assert (ran.code, plain.code) == (1, 1)
    assert refusal_in(ran.err) == refusal_in(plain.err)
    for name, value in {"sample": "1%", "segments": "2", "purge": "x", "from-export": "out", "keep": "f"}.items():
        refused = applied.run("plan", "shop.model", "--job", f"--{name}", value)
        assert (refused.code, f"--{name} does not go with --job" in refused.err) == (2, True)
    assert "Add --job" in applied.run("plan", "shop.model", "--sections", "2").err


def refusal_in(text: str) -> str:
    """What a plan was refused for, without the number of items that were read."""
    return text[text.index("items that were read") :].partition("cost")[0]


def test_a_sample(applied: Folder) -> None:
    change(applied)
    (plan,) = json.loads(applied.run("plan", "shop.model", "--sample", "50%", "--json").out)
    assert [step["kind"] for step in plan["steps"]] == ["add index", "fill", "record"]
    for wrong in ("some", "0", "100%"):
        assert f"{wrong} is not a part of a table" in applied.run("plan", "shop.model", "--sample", wrong).err


def test_the_file_of_a_review(folder: Folder) -> None:
    first = folder.run("plan", "shop.model", "--check-in")
    path = folder.path / "shop" / "model.model.json"
    before = path.read_text()
    assert (first.code, first.out.endswith("model.model.json: written\n")) == (2, True)
    assert folder.run("plan", "shop.model", "--check-in").code == 0
    change(folder)
    assert folder.run("plan", "shop.model", "--check-in", "elsewhere.json").code == 2
    assert folder.run("plan", "shop.model", "--check-in").code == 2
    assert (folder.path / "elsewhere.json").read_text() == path.read_text()
    lines = set(path.read_text().splitlines()) - set(before.splitlines())
    assert lines == {'      "version": 2', '    "gsi2": {', '        "gsi2pk",', '        "gsi2sk"'}


def test_two_versions(applied: Folder) -> None:
    applied.run("plan", "shop.model", "--check-in", "old.json")
    same = applied.run("plan", "shop.model", "--from", "old.json")
    assert (same.code, same.out) == (0, "shop: both versions store the same\n")
    change(applied)
    applied.run("plan", "shop.model", "--check-in", "new.json")
    shown = applied.run("plan", "shop.model", "--from", "old.json")
    assert shown.code == 2
    assert "  1 end the programs of the old version: they don't bear what the new one writes of Customer\n" in shown.out
    before, _, after = shown.out.partition("during add index gsi2: no change\n")
    assert "  old program, Customer: put, update, delete: Newer: nothing is written (" in before
    assert "after add index gsi2: no change\n" in after
    assert applied.run("plan", "shop.model", "--from", "table").out == shown.out
    named = applied.run("plan", "shop.model", "--from", "old.json", "--to", "new.json")
    assert (named.code, named.out.count("old program, ")) == (2, shown.out.count("old program, "))
    (facts,) = json.loads(applied.run("plan", "shop.model", "--from", "table", "--to", "new.json", "--json").out)
    assert {difference["kind"] for difference in facts["differences"]} == {"fill", "ordered"}
    gets = [cell for cell in facts["cells"] if (cell["verb"], cell["program"]) == ("get", "old")]
    assert {cell["phase"] for cell in gets} == {*facts["phases"]}
    assert {effect["rule"] for cell in gets for effect in cell["effects"]} == {"version.raised"}


def test_the_way_back(applied: Folder) -> None:
    same = applied.run("plan", "shop.model", "--back")
    assert (same.code, same.out) == (0, "")
    change(applied)
    ahead = applied.run("plan", "shop.model", "--back")
    assert (ahead.code, ahead.out.splitlines()) == (
        2,
        [
            "back, by an apply of the old declaration: fill, drop index gsi2, record",
            "  stays: Customer: items of the new version refuse the old program (version.raised)",
        ],
    )
    assert applied.run("apply", "shop.model").code == 0
    assert applied.run("plan", "shop.model", "--back").out == ahead.out  # the record has the model before


def test_versions_that_are_not_there(folder: Folder) -> None:
    folder.run("table", "create", "shop.model")
    assert "has no record of a model; an apply writes it" in folder.run("plan", "shop.model", "--from", "table").err
    (folder.path / "other.json").write_text("[]")
    assert "other.json has no table shop" in folder.run("plan", "shop.model", "--from", "other.json").err
    assert "none.json can't be read as a file of" in folder.run("plan", "shop.model", "--from", "none.json").err


def test_prices_of_your_own(applied: Folder) -> None:
    change(applied)
    unknown = applied.run("plan", "shop.model", "--price", "mars-north-1")
    assert (unknown.code, "has no such region" in unknown.err) == (2, True)
    each = {"on_demand": {"read_unit": 1, "write_unit": 10}}
    region = {**each, "provisioned": {"read_unit_hour": 1, "write_unit_hour": 1}}
    table = {"as_of": "2026-01-01", "source": "a contract", "regions": {"us-east-1": region}}
    (applied.path / "prices.json").write_text(json.dumps(table))
    (plan,) = json.loads(applied.run("plan", "shop.model", "--price", "prices.json", "--json").out)
    for step in plan["steps"]:
        assert step["takes"]["dollars"] == step["takes"]["read_units"] + 10 * step["takes"]["write_units"]
    (applied.path / "prices.json").write_text("{}")
    assert "is not a table of prices" in applied.run("plan", "shop.model", "--price", "prices.json").err


def test_a_refusal(applied: Folder) -> None:
    path = applied.path / MODEL
    path.write_text(path.read_text().replace('f"customer#{email}", "customer"', 'f"client#{email}", "customer"'))
    for command in ("plan", "apply"):
        ran = applied.run(command, "shop.model")
        assert (ran.code, "[mistake.plan-refused]" in ran.err) == (1, True)
        assert "Customer: the key was customer#{email} / customer, and is" in ran.err


def test_a_purge(applied: Folder) -> None:
    """A class that goes with its items: refused, but where a purge is asked for."""
    path = applied.path / MODEL
    text = path.read_text()
    path.write_text(text[: text.index("class Order(Entity")])
    assert applied.run("plan", "shop.model").code == 1
    asked = "shop.model", "--purge", "order"
    shown = applied.run("plan", *asked)
    assert "purge order: 30 writes, " in shown.out
    assert "it can't be undone" in shown.out
    assert json.loads(applied.run("plan", *asked, "--json").out)[0]["purge"] == ["order"]
    assert applied.run("apply", *asked).code == 0
    assert applied.run("check", "shop.model").code == 0
    assert applied.run("plan", *asked).out == "shop: nothing to do\n"
    refused = applied.run("plan", "shop.model", "--purge", "_model")
    assert (refused.code, "_model can't be purged" in refused.err) == (1, True)


def test_nothing_is_changed_elsewhere_without_yes(folder: Folder) -> None:
    ran = folder.run("apply", "shop.model", "--db", ELSEWHERE, **AWS)
    assert (ran.code, "Add --yes to do it." in ran.err) == (2, True)
