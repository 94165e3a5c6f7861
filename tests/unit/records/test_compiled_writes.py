"""Writes by the texts of their shape send the same bytes as those that are rendered anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest

from singletable import Condition, Entity, InvalidRequest, InvalidValue, Key, Table, Update, attr, field
from singletable.expressions import AttributeChange, Handle, parted_condition, parted_updates
from singletable.operations import UpdateItem
from singletable.records import compiled_writes
from singletable.records.compiled_writes import KEPT, guard_of, update_of, upsert_of
from singletable.records.conditions import (
    Facts,
    Recipe,
    check_condition,
    create_condition,
    delete_condition,
    guard,
    put_condition,
    update_condition,
    upsert_condition,
)
from singletable.records.entity_writes import PutWrite, UpsertWrite
from singletable.records.item_writes import UpdateWrite
from singletable.records.write import UNREAD, Moment
from singletable.schema import Model, model_of

app = Table("app", indexes=["gsi1"])


class Plain(Entity, table=app, type="plain"):
    id: str
    name: str
    age: int = 0
    sum: Decimal | None = None
    groups: set[str]
    anything: Any = None
    extra: Any = 5
    state: str = "open"

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"plain#{id}", "plain"

    @app.index("gsi1")
    @staticmethod
    def by_state(state: str, id: str) -> Key:
        return f"state#{state}", f"plain#{id}"


class Counted(Entity, table=app, type="counted", version=2):
    id: str
    name: str
    ends: datetime | None = field(expires=True, default=None)
    revision: int = field(version=True, default=0)

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"counted#{id}", "counted"


AGE, ANYTHING = Handle(Plain, "age"), Handle(Plain, "anything")
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
MOMENTS = (Moment(1000.5, True, "w1"), Moment(2000.0, False, "w2"))
UPDATES: tuple[tuple[Any, Callable[[int], tuple[Update, ...]]], ...] = (
    (Plain, lambda n: (attr(Plain.name).set(f"n{n}"), attr(Plain.age).add(n))),
    (Plain, lambda n: (attr(Plain.groups).include({f"g{n}"}), attr(Plain.sum).remove())),
    (Plain, lambda n: (attr(Plain.groups).exclude({f"g{n}"}), attr(Plain.anything).set({"n": n}))),
    (Plain, lambda n: (attr(Plain.groups).set({f"g{n}", "x"}), attr(Plain.sum).set(Decimal(n)))),
    (Plain, lambda n: (attr(Plain.state).set(f"s{n}"), attr(Plain.name).set(""))),
    (Counted, lambda n: (attr(Counted.name).set(f"n{n}"),)),
    (Counted, lambda n: (attr(Counted.ends).set(NOON.replace(minute=n)),)),
)
CONDITIONS: tuple[tuple[Any, Callable[[int], Condition | None]], ...] = (
    (Plain, lambda n: None),
    (Plain, lambda n: attr(Plain.age) >= n),
    (Plain, lambda n: (attr(Plain.name) == f"n{n}") & (attr(Plain.groups) != {f"g{n}"})),
    (Plain, lambda n: (attr(Plain.sum) < Decimal(n)) | (attr(Plain.anything) == [n])),
    (Counted, lambda n: None),
    (Counted, lambda n: (attr(Counted.name) == f"n{n}") & (attr(Counted.ends) > NOON)),
)
RECIPES: tuple[Recipe, ...] = (
    create_condition,
    put_condition,
    update_condition,
    delete_condition,
    check_condition,
    upsert_condition,
)


def facts_for(kind: Any, where: Condition | None) -> Iterator[Facts]:
    counts = (None, 0, 3, 4) if kind is Counted else (None,)
    for moment in MOMENTS:
        for count in counts:
            yield Facts(moment.now, moment.gone_until, count, moment.write_id if kind is Counted else "", where)


INDEX_CHANGES: tuple[tuple[AttributeChange, ...], ...] = (
    (),
    (AttributeChange("gsi1pk", {"S": "state#new"}), AttributeChange("gsi1sk", {"S": "plain#1"})),
    (AttributeChange("gsi1pk", None), AttributeChange("gsi1sk", None)),
)


@pytest.mark.parametrize("changes", INDEX_CHANGES, ids=["stays", "moves", "leaves"])
@pytest.mark.parametrize("number", range(len(UPDATES)))
def test_an_update_by_its_shape_is_the_one_that_is_rendered(number: int, changes: tuple[AttributeChange, ...]) -> None:
    kind, updates_of = UPDATES[number]
    compiled_writes.texts_of.cache_clear()
    for owner, where in CONDITIONS:
        for n in (1, 2) if owner is kind else ():
            for facts in facts_for(kind, where(n)):
                key, updates = kind.by_id(f"i{n}"), updates_of(n)
                by_shape = update_of(key, updates, parted_updates(updates), changes, facts, True)
                anew = update_of(key, updates, None, changes, facts, True)
                assert by_shape.request().body == anew.request().body
    known = compiled_writes.texts_of.cache_info()
    assert known.hits >= known.misses > 0


UPSERTS: tuple[Callable[[int], Any], ...] = (
    lambda n: Plain(id=f"i{n}", name="", groups={f"g{n}"}, sum=Decimal(n), anything={"n": [n]}),
    lambda n: Plain(id=f"i{n}", name=f"n{n}", groups=set(), state=f"s{n}"),
    lambda n: Counted(id=f"i{n}", name=f"n{n}", revision=n),
    lambda n: Counted(id=f"i{n}", name="x", ends=NOON.replace(minute=n)),
)


@pytest.mark.parametrize("number", range(len(UPSERTS)))
def test_an_upsert_by_its_shape_is_the_one_that_is_rendered(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def body_of(entity: Any, moment: Moment) -> bytes:
        part = UpsertWrite(entity).main(UNREAD, moment)
        assert part is not None
        return UpdateItem.request(part.action).body  # type: ignore[arg-type]

    def unshaped(*_: Any, **__: Any) -> None:
        return None

    compiled_writes.texts_of.cache_clear()
    given = [(UPSERTS[number](n), moment) for n in (1, 2) for moment in MOMENTS]
    by_shape = [body_of(*one) for one in given]
    known = compiled_writes.texts_of.cache_info()
    assert (known.misses, known.hits) == (1, 3)
    monkeypatch.setattr(compiled_writes, "_compiled", unshaped)
    assert by_shape == [body_of(*one) for one in given]


def test_an_upsert_sets_what_the_item_has_and_removes_what_it_has_not() -> None:
    model = model_of(Counted)
    item = model.item(Counted(id="1", name="n")) | {"of a newer program": {"S": "x"}, "stays": {"S": "y"}}
    action = upsert_of(Counted.by_id("1"), item, {"stays"}, Facts(1000.5, 1.0, write_id="w"))
    clauses = re.fullmatch("SET (.*) REMOVE (.*)", action.update)
    assert clauses is not None
    changed, removed = ({action.guard.names[name] for name in re.findall(r"#\d+", text)} for text in clauses.groups())
    assert changed == {"_type", "_v", "_w", "id", "name", "revision", "of a newer program"}
    assert removed == {"_ttl", "gsi1pk", "gsi1sk"}
    for held in ({"S": "w"}, {"N": "1000"}):  # the write's own id, and the time after which it ends
        assert held in action.guard.values.values()


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_condition_by_its_shape_is_the_one_that_is_rendered(recipe: Recipe) -> None:
    compiled_writes.texts_of.cache_clear()
    for kind, where in CONDITIONS:
        model: Model[Any] = model_of(kind)
        for n in (1, 2):
            for facts in facts_for(kind, where(n)):
                assert parted_condition(facts.where) is not None
                assert guard_of(recipe, model, facts) == guard(model, recipe(model, facts))
    known = compiled_writes.texts_of.cache_info()
    assert known.hits >= known.misses > 0


def test_keys_of_indexes_are_new_in_each_update() -> None:
    bodies = [action_of(update).request().body for update in (attr(Plain.state).set("a"), attr(Plain.state).set("b"))]
    assert b"state#a" in bodies[0]
    assert bodies[1] == bodies[0].replace(b'"S":"a"', b'"S":"b"').replace(b"state#a", b"state#b")


def action_of(*updates: Update, where: Condition | None = None) -> Any:
    part = UpdateWrite(Plain.by_id("1"), updates, where).main(UNREAD, MOMENTS[0])
    assert part is not None
    return part.action


@pytest.mark.parametrize(
    "update",
    [
        attr(Plain.sum).set(None),
        attr(Plain.groups).set(set()),
        Update("APPEND", ANYTHING, (1,)),
        attr(Plain.anything).set(None),
        attr(Plain.anything["a"]).set(1),
    ],
)
def test_a_value_that_may_decide_over_the_text_has_no_shape(update: Update) -> None:
    assert parted_updates((attr(Plain.age).set(1), update)) is None


@pytest.mark.parametrize(
    "condition",
    [
        attr(Plain.sum) == None,  # noqa: E711 a condition
        attr(Plain.groups) == set(),
        ~(attr(Plain.age) == 1),
        (attr(Plain.age) == 1) & ((attr(Plain.age) == 2) | (attr(Plain.age) == 3)),
        attr(Plain.groups).size() > 1,
        attr(Plain.name).starts_with("a"),
        Condition("=", (Plain.anything["a"], 1)),
    ],
)
def test_a_condition_whose_values_may_decide_has_no_shape(condition: Condition) -> None:
    assert parted_condition(condition) is None


def test_a_type_may_leave_it_to_its_value() -> None:
    """A number is added to what may be anything, members are included in it; and not each value has an order."""
    assert b"ADD #0 :0" in action_of(Update("ADD", ANYTHING, 1)).request().body
    assert b"ADD #0 :0" in action_of(Update("ADD", ANYTHING, {"a"})).request().body
    assert b"if_not_exists" in action_of(Update("ADD", Handle(Plain, "extra"), 1)).request().body
    assert b"ADD #0 :0" in action_of(Update("ADD", Handle(Plain, "extra"), {"a"})).request().body
    put = PutWrite(Plain(id="1", name="n", groups=set()), attr(Plain.groups) > {"a"})
    with pytest.raises(Exception, match="not a set"):
        put.main(UNREAD, MOMENTS[0])


def test_a_value_of_another_type_is_refused_as_one_that_is_rendered() -> None:
    action_of(attr(Plain.age).set(1), where=attr(Plain.name) == "a")  # the texts are known
    for updates, where, name in (
        ((Update("SET", AGE, "x"),), attr(Plain.name) == "a", "Plain.age"),
        ((attr(Plain.age).set(1),), Condition("=", (Plain.name, 3)), "Plain.name"),
    ):
        with pytest.raises(InvalidValue) as raised:
            action_of(*updates, where=where)
        assert raised.value.attribute == name


@pytest.mark.parametrize(
    ("key", "updates", "what"),
    [
        (Plain.by_id("1"), (), "at least one"),
        (Plain.by_id("1"), (attr(Plain.id).set("2"),), "part of the primary key"),
        (Plain.by_id("1"), (attr(Counted.name).set("n"),), "not an attribute of Plain"),
        (Plain.by_id("1"), (attr(Plain.age).set(1), attr(Plain.age).set(2)), "two changes"),
        (Counted.by_id("1"), (attr(Counted.revision).set(2),), "counted by the library"),
    ],
)
def test_what_a_class_does_not_allow_is_refused_each_time(key: Any, updates: tuple[Update, ...], what: str) -> None:
    for _ in range(2):
        with pytest.raises(InvalidRequest, match=what):
            UpdateWrite(key, updates).main(UNREAD, MOMENTS[0])


@pytest.mark.parametrize(
    ("update", "what"),
    [
        (Update("ADD", AGE, {"a"}), r"include\(\) and exclude\(\) are for a set"),
        (Update("DELETE", Handle(Plain, "name"), {"a"}), r"include\(\) and exclude\(\) are for a set"),
        (Update("ADD", Handle(Plain, "name"), 1), r"add\(\) is for an int"),
    ],
)
def test_a_change_that_its_attribute_does_not_take_is_refused_by_its_verb(update: Update, what: str) -> None:
    with pytest.raises(InvalidRequest, match=what):
        action_of(update)


def test_a_count_that_equals_another_leaves_no_text_for_it() -> None:
    """False is 0 to a cache: texts of the one are found for the other."""
    compiled_writes.texts_of.cache_clear()
    false: Any = False
    for count in (false, 0):
        held = guard_of(update_condition, model_of(Counted), Facts(1.0, 1.0, count))
        assert {"N": "0"} in held.values.values()


def test_an_empty_list_removes_a_set_as_an_empty_set_does() -> None:
    action_of(attr(Plain.groups).set({"a"}))
    assert action_of(Update("SET", Handle(Plain, "groups"), [])).update == "REMOVE #0"


def test_so_many_texts_are_kept_and_no_more() -> None:
    names = ("name", "age", "sum", "groups", "anything")
    values = {"name": "n", "age": 1, "sum": Decimal(1), "groups": {"g"}, "anything": 1}
    joined = [several for count in range(6) for several in combinations(names, count)]
    for changed in joined[1:]:
        for compared in joined:
            tests = tuple(Condition("=", (getattr(Plain, name), values[name])) for name in compared)
            where = Condition("AND", tests) if len(tests) > 1 else tests[0] if tests else None
            updates = (Update("SET", getattr(Plain, name), values[name]) for name in changed)
            action_of(*updates, where=where)
    assert len(joined[1:]) * len(joined) > KEPT
    assert compiled_writes.texts_of.cache_info().currsize == KEPT
