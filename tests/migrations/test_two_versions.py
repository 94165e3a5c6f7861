"""Two versions of a program on one table: what is said of each verb, beside what happens on an engine."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest

from singletable import ANY, Entity, Key, Table, attr, field
from singletable.errors import SingletableError
from singletable.migrations import Migrations, TwoVersions, document_of, read_document, two_versions
from singletable.migrations.apply_lease import Held, read_record, record_of
from singletable.migrations.rules import RULES
from singletable.migrations.sights import MEETINGS, SIGHTS
from tests.migrations.changing import order
from tests.migrations.test_changed_layers import boards
from tests.support.engines import fresh


class State(Enum):
    OPEN = "open"


class More(Enum):
    OPEN = "open"
    PAID = "paid"


class Swapped(Enum):
    PAID = "open"
    OPEN = "paid"


def by_bill(number: int) -> Key:
    return f"bill#{number}", "bill"


def by_number(number: int) -> Key:
    return f"order#{number}", "order"


def in_city(city: str, number: int = ANY) -> Key:
    """The orders of a city."""
    return f"city#{city}", f"{number}"


def of_city(city: str, number: int = ANY) -> Key:
    """The same under another text."""
    return f"c#{city}", f"{number}"


ATTRIBUTES: dict[str, Any] = {"number": int, "state": State, "city": str, "note": (str, "")}


def version(attributes: dict[str, Any] | None = None, **options: Any) -> tuple[Table, Any]:
    """A version of the class: other attributes, of which None takes one away, and options."""
    kept = {name: each for name, each in {**ATTRIBUTES, **(attributes or {})}.items() if each is not None}
    return order(kept, **{"patterns": {"gsi1": in_city}, "indexes": ("gsi1",), **options})


# --- what a verb meets ----------------------------------------------------------------------------------------------
PLAIN: dict[str, Any] = {}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "same": (PLAIN, PLAIN, {}),
    "default": (PLAIN, {"attributes": {"more": (int, 0)}}, {}),
    "carried": ({"attributes": {"more": (int, 0)}}, PLAIN, {"more": 4}),
    "unreadable": ({"attributes": {"state": More}}, PLAIN, {"state": More.PAID}),
    "newer": ({"version": 2}, PLAIN, {}),
    "older": (PLAIN, {"version": 2}, {}),
    "otherwise": (PLAIN, {"attributes": {"state": Swapped}}, {}),
    "elsewhere": ({"key": by_bill}, PLAIN, {}),
    "both keys": (PLAIN, {"key": by_bill, "was": by_number}, {}),
    "unindexed": ({"patterns": {"gsi1": of_city}}, PLAIN, {}),
    "no index": ({"indexes": (), "patterns": {}}, PLAIN, {}),
    "unguarded": (
        {"attributes": {"mail": (str | None, None)}},
        {"attributes": {"mail": (str | None, field(default=None, unique=True))}},
        {"mail": "ada@example.org"},
    ),
}
"""For a sight: the version that writes an item, the one that meets it, and what else the item has."""
VERBS = ("get", "query an index", "create", "put", "update", "delete", "unique")


def met(writes: dict[str, Any], meets: dict[str, Any], values: dict[str, Any], verb: str) -> tuple[str, int]:
    """The outcome of a verb of one version on an item of the other, and the number of items afterwards."""
    (written, writer), (table, kind) = version(**writes), version(**meets)
    if meets.get("version") == 2:
        kind.upcast(1)(dict)
    state = writer.__annotations__["state"].OPEN
    mine = {"state": kind.__annotations__["state"].OPEN, "city": "Bern"}
    with fresh() as db:
        db.create_table(written)
        db.put(writer(**{"number": 1, "state": state, "city": "Bern", **values}))
        key = kind.by_key(1)
        acts: dict[str, Callable[[], Any]] = {
            "get": lambda: db.get(key),
            "query an index": lambda: db.all(kind.in_gsi1("Bern")),
            "create": lambda: db.create(kind(number=1, **mine)),
            "put": lambda: db.put(kind(number=1, **mine)),
            "update": lambda: db.update(key, attr(kind.note).set("changed")),
            "delete": lambda: db.delete(key),
            "unique": lambda: db.create(kind(number=2, **mine, **values)),
        }
        try:
            outcome = repr(acts[verb]())
        except SingletableError as error:
            outcome = type(error).__name__
        return outcome, Migrations(db, table).fill(dry_run=True).seen


@pytest.mark.parametrize(("sight", "verb"), [(s, v) for s in CASES for v in VERBS if v != "unique" or s == "unguarded"])
def test_a_verb_meets_what_its_sight_says(sight: Any, verb: Any) -> None:
    writes, meets, values = CASES[sight]
    own_values = values if sight == "unguarded" else {}
    (outcome, items), (own, _) = met(writes, meets, values, verb), met(meets, meets, own_values, verb)
    word = SIGHTS[sight].get(verb, "as ever").partition(":")[0]
    if word in ("Corrupt", "Newer", "Applied", "NotFound", "NotConfigured"):
        assert outcome == word
    elif word == "None":
        assert (outcome, own == "None") == ("None", False)
    elif word == "a second item":
        assert (outcome, items) == ("None", 2)
    elif word.startswith("not among"):
        assert (outcome, own == "[]") == ("[]", False)
    elif word == "not refused":
        assert (outcome, own) == ("None", "NotUnique")
    elif word == "another value than was written":
        assert outcome != own
    else:
        assert outcome == own


def test_each_rule_has_its_meeting() -> None:
    assert MEETINGS.keys() == RULES.keys()
    unknown = {name for name, meeting in MEETINGS.items() if "unknown" in (meeting.old, meeting.new)}
    assert unknown == {"unknown", "unreadable", "layer.changed"}
    assert {meeting.old for meeting in MEETINGS.values()} | {meeting.new for meeting in MEETINGS.values()} <= {*SIGHTS}


# --- when, and on which items ---------------------------------------------------------------------------------------
def compared(old: dict[str, Any], new: dict[str, Any]) -> TwoVersions:
    return two_versions(version(**old)[0], version(**new)[0])


def seen(versions: TwoVersions, program: Any, verb: str) -> list[tuple[str, ...]]:
    """The outcomes of a verb, phase after phase."""
    return [cell.sees for phase in versions.phases for cell in versions.of(program, phase, verb, "Order")]


def test_the_same_version() -> None:
    same = compared(PLAIN, PLAIN)
    assert (same.differences, same.phases) == ((), ("before any step",))
    assert {cell.sees for cell in same.cells} == {("as ever",)}
    assert same.order == ("deploy the programs of the new version", "end the programs of the old version")
    verbs = {"get", "create", "put", "update", "delete", "query", "query an index"}
    assert {(cell.program, cell.verb) for cell in same.cells} == {(p, v) for p in ("old", "new") for v in verbs}


def test_an_index_and_its_pattern() -> None:
    new = compared({"patterns": {}, "indexes": ()}, PLAIN)
    assert new.phases == (
        "before any step",
        *("during add index gsi1", "after add index gsi1", "during fill", "after fill"),
        *("during record", "after record"),
    )
    absent = ("NotConfigured: the table lacks the index (all items)",)
    unindexed = "not among the items, or under its former key (items written by the old version"
    filled = (f"{unindexed}, and no fill since)",)
    assert seen(new, "new", "query an index") == [absent, absent, (f"{unindexed})",), *[filled] * 4]
    assert {cell.sees for cell in new.cells if cell.program == "old"} == {("as ever",)}
    assert new.order == (
        "apply the new declaration (add index gsi1, fill)",
        "deploy the programs of the new version",
        "end the programs of the old version",
        "fill: what the old programs wrote last",
    )
    back = compared(PLAIN, {"patterns": {}, "indexes": ()})
    assert seen(back, "old", "query an index") == [
        ("not among the items, or under its former key (items written by the new version)",),
        *[absent] * 4,
    ]
    assert back.order[0].startswith("end the programs of the old version: they don't bear what the new one writes of")


def test_a_new_member_is_read_before_it_is_written() -> None:
    more = compared(PLAIN, {"attributes": {"state": More}})
    assert more.order == (
        "deploy programs that read the new form of Order.state, and don't write it yet",
        "deploy the programs of the new version",
        "end the programs of the old version",
        "apply the new declaration (record)",
    )
    assert seen(more, "old", "get") == [("Corrupt (items written by the new version)",)] * 3
    assert seen(more, "new", "get") == [("as ever",)] * 3


def test_a_key_that_moves() -> None:
    moves = compared(PLAIN, {"key": by_bill, "was": by_number})
    assert seen(moves, "old", "get") == [
        ("None (items written by the new version)",),
        *[("None (items written by the new version or the fill)",)] * 4,
    ]
    assert seen(moves, "new", "update")[0] == ("moves it (items written by the old version)",)
    assert moves.order == (
        "end the programs of the old version: they don't bear what the new one writes of Order",
        "apply the new declaration (fill)",
        "deploy the programs of the new version",
    )


def test_a_raised_version_decides_for_its_attributes() -> None:
    raised = compared(PLAIN, {"version": 2, "attributes": {"note": None, "text": str, "state": More}})
    assert {rule.rule for rule in raised.differences} >= {"version.raised", "attribute.required", "enum.gained"}
    assert seen(raised, "old", "put")[0] == ("Newer: nothing is written (items written by the new version)",)
    assert seen(raised, "new", "get")[0] == ("as ever",)
    assert seen(raised, "new", "update")[0] == ("two requests more, once (items written by the old version)",)


def test_an_attribute_that_is_gone_reads_as_its_reader_declares_it() -> None:
    optional = compared(PLAIN, {"attributes": {"note": None}})
    assert seen(optional, "old", "get")[0][0].startswith("the default, where an item lacks the attribute (")
    required = compared({"attributes": {"note": str}}, {"attributes": {"note": None}})
    assert seen(required, "old", "get")[0] == ("Corrupt (items written by the new version)",)
    assert required.order[0].startswith("plan against the table: it counts")


def test_a_unique_value_concerns_its_own_attribute() -> None:
    mail: Any = {"mail": (str | None, None), "phone": (str | None, field(default=None, unique=True))}
    unique = {**mail, "mail": (str | None, field(default=None, unique=True))}
    guarded = compared({"attributes": mail}, {"attributes": unique})
    sees = {cell.pattern: cell.sees for cell in guarded.of("new", "before any step", "unique")}
    assert sees == {
        "phone": ("as ever",),
        "mail": ("not refused: the value has no guard (items written by the old version)",),
    }


def test_the_record_and_a_file_are_versions() -> None:
    (old, _), (new, _) = version(), version({"more": (int, 0)})
    with fresh() as db:
        migrations = Migrations(db, new)
        db.create_table(old)
        assert migrations.recorded() is None
        Migrations(db, old).apply()
        with db.meter() as meter:
            record = migrations.recorded()
        assert (record, meter.requests) == (document_of(old), 1)
    assert record is not None
    expected = two_versions(old, new)
    assert two_versions(record, new) == expected
    assert two_versions(read_document(document_of(old).text), new) == expected
    assert [difference.rule for difference in expected.differences] == ["attribute.added"]


def test_a_class_that_stores_both_forms_lets_the_old_program_go_on() -> None:
    old, both, only = (contact(*options) for options in ((1, None), (2, 1), (2, None)))
    for was, now in ((old, both), (both, only)):
        versions = two_versions(was, now)
        assert {difference.rule for difference in versions.differences} >= {"version.both"}
        assert {cell.sees for cell in versions.cells if cell.program == "old"} == {("as ever",)}
        assert versions.order == (
            "deploy the programs of the new version",
            "end the programs of the old version",
            "apply the new declaration (fill)",
        )
    raised = two_versions(old, only)
    assert raised.order[0].startswith("end the programs of the old version")


def test_what_is_breaking_is_counted_before_and_recorded_after() -> None:
    assert compared(PLAIN, {"attributes": {"more": int}}).order == (
        "plan against the table: it counts the items that a breaking difference is about, and refuses them",
        "deploy the programs of the new version",
        "end the programs of the old version",
        "apply the new declaration (record)",
    )


def test_a_role_ends_the_old_programs_first() -> None:
    counts: Any = [{"attributes": {"count": (int, each)}} for each in (0, field(default=0, version=True))]
    assert compared(*counts).order[0].startswith("end the programs of the old version")


def test_upcasters_make_no_guards() -> None:
    unique = {"version": 2, "attributes": {"note": (str, field(default="", unique=True))}}
    (cell,) = compared(PLAIN, unique).of("new", "before any step", "unique")
    assert cell.sees == ("not refused: the value has no guard (items written by the old version)",)


def test_the_way_back_and_what_it_leaves() -> None:
    moves = compared(PLAIN, {"key": by_bill, "was": by_number, "attributes": {"more": (int, 0)}})
    assert moves.back == ("fill", "record")
    key, more = moves.lost
    assert key.startswith("Order: its items stay under the new key; they move back where the old key has was= with")
    assert more == ("Order.more: its values stay unread, and a put of a new object erases them (attribute.added)")
    index = compared({"patterns": {}, "indexes": ()}, PLAIN)
    assert (index.back, index.lost) == (("drop index gsi1", "record"), ())
    keys = [order(ATTRIBUTES, table=Table("shop", indexes={"gsi1": names})) for names in (("a", "b"), ("a", "c"))]
    assert two_versions(keys[0][0], keys[1][0]).back == ("drop index gsi1", "add index gsi1", "record")
    same = compared(PLAIN, PLAIN)
    assert (same.back, same.lost) == ((), ())


def test_the_record_keeps_the_model_before() -> None:
    first, second, third = (version({"more": (int, n)} if n else None)[0] for n in range(3))
    with fresh() as db:
        for table, before in ((first, None), (second, first), (third, second)):
            migrations = Migrations(db, table)
            plan = migrations.plan(accept=[("default.changed", "Order.more")])
            assert migrations.apply(plan).done[-1].write_units == plan.steps[-1].takes.write_units
            assert migrations.recorded(before=True) == (None if before is None else document_of(before))
            assert migrations.recorded() == document_of(table)
        record = db.run(read_record(db.port, third))
        again = record_of(third, Held("", 0), document_of(third), "", 0.0, record)
        assert again.before == document_of(second).packed  # of an apply that changed settings alone


def contact(version: int, stored_as: int | None) -> Table:
    """A version of a class with its upcaster and downcaster."""
    crm = Table("crm")

    class Contact(Entity, table=crm, type="contact", version=version, stored_as=stored_as):
        email: str

        @crm.key
        @staticmethod
        def by_email(email: str) -> Key:
            return f"contact#{email}", "contact"

    if version == 2:
        Contact.upcast(1)(dict)
        Contact.downcast(2)(dict)
    return crm


def test_what_a_layer_stores_waits_for_a_program_that_knows_it() -> None:
    def more(draft: Any, *, title: str, language: str = "en") -> None:
        draft.title = f"{title} ({language})"

    old, new = boards(), boards(mutation=more)  # a table alone keeps no classes of documents
    versions = two_versions(old[0], new[0])
    (cell,) = versions.of("old", "before any step", "handle")
    assert cell.subject.endswith("rename")
    assert cell.sees == ("waits for a program that knows it (items written by the new version)",)
    assert versions.of("new", "before any step", "handle") == ()
    assert versions.order[0].startswith("deploy programs that read the new form of ")
