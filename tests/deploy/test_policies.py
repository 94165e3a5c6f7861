"""Policies from access patterns: what each verb gives, what no policy can hold, and how statements are put together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any

import pytest

from singletable import ANY, Collection, Entity, Key, Table, collect, field
from singletable.errors import DeclarationError
from singletable.foundation import get_operation, model_of
from singletable.graph import GraphTable, Node
from singletable.streams import Changes
from singletable_deploy import (
    Deployment,
    Function,
    Grant,
    Role,
    checks,
    creates,
    deletes,
    deletes_nodes,
    exporter,
    handles,
    reads,
    scans,
    sets_up,
    updates,
)
from singletable_deploy.access import Resource, ResourceAccess
from singletable_deploy.cloudformation import template
from singletable_deploy.key_patterns import covers, fewest
from singletable_deploy.ready_roles import administers, reads_all
from singletable_deploy.record_grants import Pattern
from singletable_deploy.statements import MOST_CHARACTERS, size_of
from tests.graph import models as graph
from tests.support.attempts import attempts_of, table_arn
from tests.support.iam import Attempt, is_allowed
from tests.support.templates import Json, statements_of

app = Table("app", indexes=["gsi1"])


class State(Enum):
    OPEN = "open"
    PAID = "paid"


class User(Entity, table=app, type="user"):
    email: str
    login: str = field(unique=True)
    name: str = ""
    secret: str = ""

    @app.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One user."""
        return f"user#{email}", "user"


class Order(Entity, table=app, type="order"):
    customer: str
    number: int
    state: State

    @app.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """A customer's orders."""
        return f"customer#{customer}", f"order#{number}"

    @app.index("gsi1")
    @staticmethod
    def by_state(state: State, number: int = ANY) -> Key:
        """The orders of a state."""
        return f"{state}", f"{number}"


class Shelf(Collection):
    orders: list[Order]

    of = collect(Order.of_customer)


bare = Table("bare")


class Bare(Entity, table=bare, type="bare"):
    id: str

    @bare.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"{id}", "bare"


def statements(*may: Pattern | Grant, where: dict[str, str] | None = None, name: str = "it") -> list[Json]:
    role = Role(name, may, where or {})
    return [*statements_of(template(Deployment("app", role.tables, [role])), name.title())]


def allowed(held: Sequence[Json], action: str, key: str, part: str = "", **context: str) -> bool:
    more = {f"aws:PrincipalTag/{name}": (value,) for name, value in context.items()}
    return is_allowed(
        held, Attempt(f"dynamodb:{action}", table_arn("app", part), {"dynamodb:LeadingKeys": (key,), **more})
    )


# --- what each verb gives ---------------------------------------------------------------------------------------------
def test_a_pattern_of_one_item_is_read_and_nothing_else() -> None:
    held = statements(User.by_email)
    assert allowed(held, "GetItem", "user#ada@example.org")
    assert allowed(held, "BatchGetItem", "user#ada@example.org")
    for action in ("Query", "PutItem", "UpdateItem", "DeleteItem", "Scan", "ConditionCheckItem", "BatchWriteItem"):
        assert not allowed(held, action, "user#ada@example.org")
    assert not allowed(held, "GetItem", "customer#ada@example.org")
    assert not allowed(held, "GetItem", "user#ada@example.org", "/index/gsi1")


def test_an_index_is_queried_at_the_partitions_that_an_enum_has() -> None:
    held = statements(Order.by_state)
    assert allowed(held, "Query", "open", "/index/gsi1")
    assert not allowed(held, "Query", "opened", "/index/gsi1")
    assert not allowed(held, "Query", "open")


def test_a_pattern_left_open_and_a_collection_are_queried() -> None:
    assert allowed(statements(Order.of_customer), "Query", "customer#1")
    assert allowed(statements(Order.of_customer), "GetItem", "customer#1")
    whole = statements(Shelf.of)
    assert allowed(whole, "Query", "customer#1")
    assert not allowed(whole, "GetItem", "customer#1")


def test_a_class_with_a_unique_value_brings_its_guards_and_no_others() -> None:
    held = statements(creates(User))
    assert allowed(held, "PutItem", "user#ada")
    assert allowed(held, "PutItem", "_unique#user#login#ada")
    assert not allowed(held, "PutItem", "_unique#user#email#ada")
    assert not allowed(held, "DeleteItem", "_unique#user#login#ada")
    changing = statements(updates(User))
    for action in ("PutItem", "DeleteItem", "ConditionCheckItem"):
        assert allowed(changing, action, "_unique#user#login#ada")
        assert not allowed(changing, action, "user#ada")


def test_a_check_and_a_delete_write_nothing_else() -> None:
    held = statements(checks(Order), deletes(Order))
    assert allowed(held, "ConditionCheckItem", "customer#1")
    assert allowed(held, "DeleteItem", "customer#1")
    assert not allowed(held, "UpdateItem", "customer#1")


def test_a_read_of_some_attributes_refuses_the_whole_item() -> None:
    held = statements(reads(User.by_email, only=[User.name]))
    tables = {"app": app.definition}
    query = User.by_email("ada")
    for asked, is_one in ((query.only(User.name), True), (query, False), (query.only(User.secret), False)):
        body = json.loads(get_operation(asked, consistent=False).request().body)
        (attempt,) = attempts_of("", "GetItem", body, tables)
        assert is_allowed(held, attempt) is is_one


def test_the_items_of_an_index_are_read_by_their_keys_where_it_is_said() -> None:
    assert not allowed(statements(Order.by_state), "BatchGetItem", "customer#1")
    held = statements(reads(Order.by_state, hydrated=True))
    assert allowed(held, "BatchGetItem", "customer#1")
    assert not allowed(held, "BatchGetItem", "user#ada")
    assert not allowed(held, "Query", "customer#1")


def test_a_batch_of_two_classes_is_one_statements() -> None:
    held = statements(User.by_email, Order.of_customer)
    keys = ("user#ada", "customer#1")
    assert is_allowed(held, Attempt("dynamodb:BatchGetItem", table_arn("app"), {"dynamodb:LeadingKeys": keys}))
    foreign = (*keys, "secret#1")
    assert not is_allowed(held, Attempt("dynamodb:BatchGetItem", table_arn("app"), {"dynamodb:LeadingKeys": foreign}))


def test_a_request_without_the_condition_key_is_refused() -> None:
    assert not is_allowed(statements(User.by_email), Attempt("dynamodb:GetItem", table_arn("app"), {}))


# --- tenants ----------------------------------------------------------------------------------------------------------
def test_a_tenant_is_held_to_what_its_session_says() -> None:
    held = statements(Order.of_customer, creates(Order), where={"customer": "${aws:PrincipalTag/customer}"})
    for action in ("Query", "GetItem", "PutItem"):
        assert allowed(held, action, "customer#7", customer="7")
        assert not allowed(held, action, "customer#7", customer="8")
        assert not allowed(held, action, "customer#77", customer="7")
        assert not allowed(held, action, "customer#7")


def test_characters_that_mean_something_to_iam_are_taken_as_they_are() -> None:
    odd = Table("odd")

    class Odd(Entity, table=odd, type="odd"):
        id: str

        @odd.key
        @staticmethod
        def by_id(id: str) -> Key:
            """One."""
            return f"a*b?$#{id}", "odd"

    role = Role("it", [Odd.by_id])
    held = statements_of(template(Deployment("odd", [odd], [role])), "It")
    for key, is_one in (("a*b?$#1", True), ("axb?$#1", False), ("a*bx$#1", False)):
        attempt = Attempt("dynamodb:GetItem", table_arn("odd"), {"dynamodb:LeadingKeys": (key,)})
        assert is_allowed(held, attempt) is is_one


# --- what is refused --------------------------------------------------------------------------------------------------
def test_a_key_without_a_leading_literal_is_refused_by_name() -> None:
    with pytest.raises(DeclarationError, match=r"Bare\.by_id: the partition key \{id\} begins with a value") as error:
        Role("it", [Bare.by_id])
    assert 'where={"id": "..."}' in str(error.value)
    role = Role("it", [Bare.by_id], where={"id": "*"})
    (statement,) = statements_of(template(Deployment("bare", [bare], [role])), "It")
    assert "Condition" not in statement


def test_where_names_a_value_of_a_key() -> None:
    with pytest.raises(DeclarationError, match="role it: where= names 'tenant'"):
        Role("it", [User.by_email], where={"tenant": "1"})


def test_a_role_with_a_pattern_of_another_table_is_refused_by_name() -> None:
    role = Role("it", [User.by_email, creates(Bare)], where={"id": "*"})
    with pytest.raises(DeclarationError, match=r"role it: creates\(Bare\) needs the table 'bare', which app does not"):
        Deployment("app", [app], [role])


def test_a_function_needs_the_tables_of_what_calls_it_and_of_what_it_measures() -> None:
    log = Table("log", stream="new_and_old")
    changes, role, minute = Changes(log), Role("it", [], service="lambda"), timedelta(minutes=1)
    on_change = Function("on-change", "app.on_change", role, on=changes)
    watch = Function("watch", "app.watch", role, on=minute, measures=[changes])
    with pytest.raises(DeclarationError, match=r"function watch needs the table 'log-leases', which app does not have"):
        Deployment("app", [log], functions=[on_change, watch])
    with pytest.raises(DeclarationError, match=r"function on-change needs the table 'log', .*Add it to tables="):
        Deployment("app", [bare], functions=[on_change])
    Deployment("app", [log], functions=[on_change])  # it takes no lease
    Deployment("app", [log, changes.leases], functions=[on_change, watch])


@pytest.mark.parametrize("name", ["Web", "", "a b", "_"])
def test_a_role_has_a_name(name: str) -> None:
    with pytest.raises(DeclarationError, match="invalid name of a role"):
        Role(name, [User.by_email])


def test_what_is_no_pattern_is_refused() -> None:
    query: Any = User.by_email("ada")
    with pytest.raises(DeclarationError, match="is not an access pattern"):
        reads(query)
    text: Any = "user"
    with pytest.raises(DeclarationError, match="takes classes of entities"):
        creates(text)
    with pytest.raises(DeclarationError, match="takes attributes of the class"):
        Role("it", [reads(User.by_email, only=["name"])])


# --- statements -------------------------------------------------------------------------------------------------------
def test_a_scan_reaches_the_whole_table() -> None:
    assert is_allowed(statements(scans(app)), Attempt("dynamodb:Scan", table_arn("app")))
    assert not is_allowed(statements(scans(app)), Attempt("dynamodb:Scan", table_arn("app", "/index/gsi1")))


def test_an_exporter_reads_the_table_and_has_dynamodb_export_it() -> None:
    streamed = Table("streamed", stream="new")
    for table in (app, streamed):
        role = exporter(table, name="it")
        held = statements_of(template(Deployment("app", [table], [role])), "It")
        for action in ("Scan", "DescribeTable", "DescribeContinuousBackups", "ExportTableToPointInTime"):
            assert is_allowed(held, Attempt(f"dynamodb:{action}", table_arn(table.name)))
        assert is_allowed(
            held, Attempt("dynamodb:DescribeExport", table_arn(table.name, "/export/01693685827463-2d87"))
        )
        said = {action for statement in held for action in statement["Action"]}
        assert "dynamodb:GetRecords" not in said
        assert not any(action.startswith(("dynamodb:Put", "dynamodb:Update", "dynamodb:Delete")) for action in said)


KEY_ID = "1234abcd-12ab-34cd-56ef-1234567890ab"
KEY_ARN = f"arn:aws:kms:eu-central-1:123456789012:key/{KEY_ID}"


@pytest.mark.parametrize("declared", [KEY_ID, KEY_ARN])
def test_who_reaches_a_table_may_use_its_key_by_way_of_dynamodb(declared: str) -> None:
    keyed = Table("keyed", stream="keys", encryption_key=declared)
    changes = Changes(keyed)
    roles = [
        Role("all", [scans(keyed)]),
        Role("changes", [handles(changes)]),
        Role("other", [scans(app)]),
        Role("pipeline", [sets_up(keyed)]),
    ]
    made = template(Deployment("app", [app, keyed, changes.leases], roles))
    via = {"kms:ViaService": ("dynamodb.eu-central-1.amazonaws.com",)}
    for role, action, is_given in (
        ("All", "Decrypt", True),
        ("Changes", "Decrypt", True),
        ("Pipeline", "CreateGrant", True),
        ("All", "CreateGrant", False),
        ("Other", "Decrypt", False),
    ):
        held = statements_of(made, role)
        assert is_allowed(held, Attempt(f"kms:{action}", KEY_ARN, via)) is is_given
        assert not is_allowed(held, Attempt(f"kms:{action}", KEY_ARN))
        assert not is_allowed(held, Attempt(f"kms:{action}", f"{KEY_ARN}0", via))
        assert not is_allowed(held, Attempt(f"kms:{action}", KEY_ARN, {"kms:ViaService": ("s3.a.amazonaws.com",)}))


def test_a_wide_pattern_leaves_out_what_it_covers() -> None:
    assert fewest({"user#*", "user#1", "order#*", "us?r#*"}) == ("order#*", "us?r#*", "user#*")
    assert covers("*", "a")
    assert not covers("a?*", "ab")


def test_a_long_policy_is_made_of_several_each_as_large_as_iam_takes() -> None:
    resources = [Resource("table", f"table-{n}") for n in range(40)]
    accesses = [ResourceAccess(each, frozenset({"GetItem"}), (f"{each.name}#" + "x" * 100,)) for each in resources]
    tables = [Table(each.name) for each in resources]
    role = Role("it", [Grant("everything", tuple(tables), lambda where: accesses)])
    made = template(Deployment("wide", tables, [role], alarms=False))
    policies = [r for name, r in made["Resources"].items() if name.startswith("ItPolicy")]
    assert len(policies) > 1
    assert all(size_of(p["Properties"]["PolicyDocument"]["Statement"]) <= MOST_CHARACTERS for p in policies)
    assert len(statements_of(made, "It")) == len(resources)


lone = GraphTable("lone")


class Island(Node, table=lone, type="ISLAND"):
    """No edge joins it."""


def test_a_role_that_deletes_nodes_reaches_the_node_itself() -> None:
    role = Role("it", [deletes_nodes(Island)], {})
    held = statements_of(template(Deployment("app", role.tables, [role])), "It")
    node = model_of(Island).key.templates[0].prefix({"id": "crete"})

    def may(action: str, partition: str) -> bool:
        keys = {"dynamodb:LeadingKeys": (partition,)}
        return is_allowed(held, Attempt(f"dynamodb:{action}", table_arn(lone.name), keys))

    assert all(may(action, node) for action in ("GetItem", "UpdateItem", "DeleteItem"))
    assert not may("DeleteItem", "OTHER-crete")


def test_a_pattern_that_a_layer_made_is_read() -> None:
    held = Role("it", [reads(graph.User.by_id)], {})
    assert [table.name for table in held.tables] == [graph.records.name]


def test_roles_reach_what_tools_keep_of_a_foreign_table() -> None:
    """A worker asks its hold where that lies; who reads or administers the table has what belongs to it."""
    own = Table("legacy-own")
    legacy = Table("legacy", foreign=True, own_items=own, stream="new_and_old")

    class Record(Entity, table=legacy, type="record"):
        id: str

        @legacy.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"record#{id}", "record"

    def actions(grant: Grant, table: Table) -> set[str]:
        accesses = [each for each in grant.accesses({}) if each.resource == Resource("table", table.name)]
        return {action for access in accesses for action in access.actions}

    handled = handles(Changes(legacy))
    (hold,) = [each for each in handled.accesses({}) if each.resource.name == "legacy-own" and each.partitions]
    assert (hold.actions, hold.partitions) == (frozenset({"GetItem"}), ("_migration",))
    assert {"GetItem", "Query", "Scan"} <= actions(reads_all(legacy), own)
    assert {"GetItem", "PutItem", "BatchWriteItem", "CreateTable"} <= actions(administers(legacy), own)
    assert not actions(reads_all(app), own)
