"""The names of tables in the account: which one a declared name becomes."""

from __future__ import annotations

import pytest

from singletable import InvalidRequest, connect, connect_async
from singletable.errors import Failure, NotConfigured, NotFound, TransactionCancelled
from singletable.flow import DECLARED, TableNames

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1"}


def test_a_table_and_its_leases_have_the_given_name_and_others_their_own() -> None:
    names = TableNames({"orders": "orders-7", "people": ARN})
    assert [names[name] for name in ("orders", "orders-leases", "people", "people-leases", "users", "orders-2")] == [
        *("orders-7", "orders-7-leases", ARN, f"{ARN}-leases", "users", "orders-2")
    ]
    assert [DECLARED[name] for name in ("orders", "orders-leases")] == ["orders", "orders-leases"]


def test_a_prefix_is_put_once_before_every_name_that_is_not_given() -> None:
    names = TableNames({"orders": "old-orders"}, "prod-")
    assert [names[name] for name in ("orders", "users", "users-leases", "prod-books", ".scylla.config", ARN)] == [
        *("old-orders", "prod-users", "prod-users-leases", "prod-books", ".scylla.config", ARN)
    ]
    assert names.text == "prod-* orders=old-orders"
    assert (names.declared("prod-users"), names.declared("old-orders"), names.declared("x")) == ("users", "orders", "x")


def test_a_table_may_have_another_name_for_a_while() -> None:
    names = TableNames({"orders": "orders-7"}, "prod-")
    assert [names.with_name("orders", "back")[name] for name in ("orders", "orders-leases", "users")] == [
        *("prod-back", "prod-back-leases", "prod-users")
    ]
    assert names["orders"] == "orders-7"


@pytest.mark.parametrize(
    ("called", "prefix", "why"),
    [
        ({"orders": "or ders"}, "", "'or ders' is not the name or the ARN of a table"),
        ({"orders": "arn:aws:dynamodb:eu-west-1:1:table/orders"}, "", "is not the name or the ARN"),
        ({"orders": "x", "users": "y"}, "", "'x' is not the name"),
        ({"orders": "same", "users": "same"}, "", "two tables would be one, same: 'orders' and 'users'"),
        ({}, "pro d", "'pro d' can't begin a table's name"),
    ],
)
def test_names_that_no_table_can_have_are_refused(called: dict[str, str], prefix: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        TableNames(called, prefix)


def test_a_table_that_has_the_name_of_another_one_is_refused_when_it_is_used() -> None:
    names = TableNames({"orders": "users"})
    with pytest.raises(InvalidRequest, match="two tables would be one, users: 'orders' and 'users'"):
        names["users"]


@pytest.mark.parametrize(
    ("names", "fits", "too_long"),
    [
        (TableNames({}, "p" * 246), "o" * 9, "o" * 10),
        (TableNames({"orders": "o" * 249}), "orders", "orders-leases"),
        (TableNames({"orders": ARN + "x" * 243}), "orders", "orders-leases"),
    ],
)
def test_a_name_in_the_account_has_at_most_255_characters(names: TableNames, fits: str, too_long: str) -> None:
    assert len(names[fits]) > 240
    for _ in range(2):
        with pytest.raises(InvalidRequest, match="the table's name in the account has 256 characters") as refused:
            names[too_long]
        error = refused.value
        assert (error.table, error.operation) == (too_long, "connect")
        assert f"table {too_long}, called {error.called})" in str(error)
        assert len(error.called) > 255
        assert "table_prefix" in error.hint
        names.tell(error)


def test_an_error_has_both_names_where_they_differ() -> None:
    names = TableNames({"orders": "orders-7"})
    for declared, shown in (("orders", "orders, called orders-7"), ("users", "users"), ("orders, users", None)):
        error = NotFound("the table is missing", table=declared)
        names.tell(error)
        assert error.table == declared
        assert f"(table {shown or 'orders, users, called orders-7, users'})" in str(error)
    assert (names.shown("orders"), names.shown("users")) == ("orders (orders-7)", "users")


def test_an_error_is_told_once_and_by_names_of_either_kind() -> None:
    source, target = TableNames({"orders": "orders-7"}), TableNames({"orders": "orders-8"})
    error = NotFound("the item is missing", table="orders")
    TableNames().tell(error)
    source.tell(error)
    assert str(error) == "the item is missing (table orders)"  # as the first one knows it
    for named in ("orders", "orders-8"):  # a restore names its table as the account does
        error = NotFound("the item is missing", table=named)
        target.tell(error)
        assert error.called == "orders-8"
    failed = Failure(1, "put", NotFound("the item is missing", table="orders"))
    target.tell(TransactionCancelled("it was not applied", failures=(failed,)))
    assert failed.error.called == "orders-8"
    assert dict(target) == {"orders": "orders-8"}


SET = {**KEYS, "SINGLETABLE_TABLE_PREFIX": "prod-", "SINGLETABLE_TABLE_NAMES": f"orders=orders-7, people = {ARN},"}


def test_names_come_from_the_environment_where_no_argument_says_them() -> None:
    with connect("aws", environ=SET) as db:
        assert [db.target.names[name] for name in ("orders", "orders-leases", "people", "users")] == [
            *("orders-7", "orders-7-leases", ARN, "prod-users")
        ]
        assert TableNames.given(None, "", db.target.names.variables).text == db.target.names.text
    with connect("aws", environ={**KEYS, "SINGLETABLE_TABLE_PREFIX": ""}) as db:
        assert (db.target.names["users"], db.target.names.variables) == ("users", {})


def test_an_argument_takes_the_place_of_both_variables() -> None:
    shown: list[tuple[str, str]] = []
    for tables, prefix in ((None, "test-"), ({"users": "users-2"}, ""), ({}, "")):
        with connect("aws", tables=tables, table_prefix=prefix, environ=SET) as db:
            shown.append((db.target.names["orders"], db.target.names["users"]))
    assert shown == [("test-orders", "test-users"), ("orders", "users-2"), ("orders", "users")]


@pytest.mark.parametrize(
    ("variable", "text", "why"),
    [
        ("SINGLETABLE_TABLE_NAMES", "orders", "orders is not NAME=THERE"),
        ("SINGLETABLE_TABLE_NAMES", "orders=x1x, =users", "=users is not NAME=THERE"),
        ("SINGLETABLE_TABLE_NAMES", "orders=or ders", "'or ders' is not the name or the ARN of a table"),
        ("SINGLETABLE_TABLE_NAMES", "orders=same,users=same", "two tables would be one, same"),
        (
            "SINGLETABLE_TABLE_NAMES",
            "orders=one,users=two,orders=six",
            "'orders' is given twice, as 'one' and as 'six'",
        ),
        ("SINGLETABLE_TABLE_PREFIX", "pro d", "'pro d' can't begin a table's name"),
    ],
)
def test_a_variable_that_names_no_table_is_refused_by_its_name(variable: str, text: str, why: str) -> None:
    with pytest.raises(NotConfigured, match=f"{variable}: {why}") as refused:
        connect_async("aws", environ={**KEYS, variable: text})
    assert (refused.value.hint != "", refused.value.table) == (True, "orders" if "ARN" in why else None)


def test_a_connection_carries_one_region() -> None:
    with connect("aws", tables={"orders": ARN}, environ=KEYS) as db:
        assert db.target.names["orders"] == ARN
    with pytest.raises(InvalidRequest, match="table 'orders' is in eu-west-1, and this database in us-east-1"):
        connect("aws", tables={"orders": ARN}, region="us-east-1", environ=KEYS)


def test_the_address_of_an_account_is_not_taken_where_a_table_is_in_another() -> None:
    environ = {**KEYS, "AWS_ACCOUNT_ID": "210987654321"}
    with connect("aws", environ=environ) as own, connect("aws", tables={"orders": ARN}, environ=environ) as other:
        assert "210987654321" in own.target.endpoint.host
        assert "210987654321" not in other.target.endpoint.host
