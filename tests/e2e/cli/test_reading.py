"""`get`, `query` and `explain` on a data file."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.cli.conftest import Folder

COST = re.compile(r"1 request, [0-9.]+ read units?, [0-9.]+ ms")
ORDERS = ("query", "shop.model", "Order.of_customer", "ada@example.org")
OPEN = ("query", "shop.model", "Order.by_state", "OPEN")


def test_get_shows_an_item_and_its_cost(shop: Folder) -> None:
    ran = shop.run("get", "shop.model", "Customer.by_email", "ada@example.org")
    assert ran.code == 0
    assert re.search(r"name +Ada", ran.out)
    assert re.search(r"tags +a, b", ran.out)
    assert COST.fullmatch(ran.err.strip())


def test_get_as_json(shop: Folder) -> None:
    ran = shop.run("get", "shop/model.py", "Order.of_customer", "ada@example.org", "number=7", "--json")
    assert json.loads(ran.out) == {
        "email": "ada@example.org",
        "number": 7,
        "placed_at": "2026-01-08T00:00:00Z",
        "state": "open",
        "total": 19.5,
    }


def test_get_of_nothing_says_so(shop: Folder) -> None:
    ran = shop.run("get", "shop.model", "Customer.by_email", "nobody@example.org", "--json")
    assert (ran.code, ran.out.strip()) == (1, "null")
    assert "nothing is found under Customer.by_email" in ran.err


def test_get_of_a_collection(shop: Folder) -> None:
    ran = shop.run("get", "shop.model", "Account.by_email", "ada@example.org", "--json")
    found = json.loads(ran.out)
    assert found["customer"]["name"] == "Ada"
    assert [order["number"] for order in found["orders"]] == list(range(30))
    shown = shop.run("get", "shop.model", "Account.by_email", "ada@example.org", "--consistent")
    assert "customer (1)" in shown.out
    assert "orders (30)" in shown.out


@pytest.mark.parametrize(
    ("word", "numbers"),
    [
        ("number=before:3", [0, 1, 2]),
        ("number=after:27", [28, 29]),
        ("at-least:28", [28, 29]),
        ("at_most:1", [0, 1]),
        ("number=between:3,5", [3, 4, 5]),
    ],
)
def test_ranges(shop: Folder, word: str, numbers: list[int]) -> None:
    ran = shop.run(*ORDERS, word, "--json")
    assert [item["number"] for item in json.loads(ran.out)["items"]] == numbers


def test_ranges_of_text_and_of_instants(shop: Folder) -> None:
    names = shop.run("query", "shop.model", "Customer.by_city", "London", "name=starting-with:A", "--json")
    assert [item["name"] for item in json.loads(names.out)["items"]] == ["Ada"]
    early = shop.run(*OPEN, "placed_at=before:2026-01-05T00:00:00Z", "--newest-first", "--json")
    assert [item["number"] for item in json.loads(early.out)["items"]] == [3, 1]


def test_pages_follow_one_another(shop: Folder) -> None:
    first = json.loads(shop.run(*ORDERS, "--limit", "20", "--json").out)
    second = json.loads(shop.run(*ORDERS, "--limit", "20", "--after", first["cursor"], "--json").out)
    assert [i["number"] for i in first["items"] + second["items"]] == list(range(30))
    assert second["cursor"] is None
    foreign = shop.run(*OPEN, "--after", first["cursor"])
    assert foreign.code == 1
    assert "[mistake.cursor]" in foreign.err


def test_all_reads_every_page(shop: Folder) -> None:
    assert len(json.loads(shop.run(*ORDERS, "--all", "--json").out)["items"]) == 30


def test_no_items_is_no_error(shop: Folder) -> None:
    ran = shop.run("query", "shop.model", "Customer.by_city", "Nowhere")
    assert (ran.code, ran.out) == (0, "")
    assert "no items" in ran.err


def test_what_a_terminal_would_obey_is_not_printed(shop: Folder) -> None:
    shown = shop.run("query", "shop.model", "Customer.by_city", "London")
    as_json = shop.run("query", "shop.model", "Customer.by_city", "London", "--json")
    assert "Bob[red]!" in shown.out
    for text in (shown.out, as_json.out):
        assert not set(text) & set("\x1b\x07\u202e")
    names = [item["name"] for item in json.loads(as_json.out)["items"]]
    assert "B\x1b]0;owned\x07o\x1b[31mb\u202e[red]!" in names


def test_explain_sends_nothing(folder: Folder) -> None:
    ran = folder.run("explain", "shop.model", "Order.by_state", "paid", "at-least:2026-01-02T00:00:00Z")
    assert ran.code == 0
    assert ran.out.startswith("Query shop/gsi1: 0.5 read unit")
    assert '"state#paid"' in ran.out
    assert not (folder.path / "data").exists()
    as_json = json.loads(folder.run("explain", "shop.model", "Customer.by_email", "x", "--json").out)
    assert as_json[0]["operation"] == "GetItem"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Customer.by_emial", "x"), "Did you mean Customer.by_email?"),
        (("Custmer.by_email", "x"), "Did you mean Customer?"),
        (("Customer.by_email",), "Customer.by_email EMAIL: email is missing."),
        (("Customer.by_email", "x", "y"), "'y' is an unexpected argument."),
        (("Customer.by_email", "mail=x"), "no parameter is named 'mail'"),
        (("Customer.by_email", "x", "email=y"), "'x' is an unexpected argument."),
        (("Order.of_customer", "x", "seven"), "number='seven': it is a whole number."),
        (("Order.of_customer", "x", "between:1"), "between takes two values"),
        (("Order.of_customer", "x", "starting-with:1"), "starting-with is for text"),
        (("Order.by_state", "lost"), "it is one of OPEN, PAID"),
        (("Order.by_state", "open", "2026-01-02T00:00:00"), "with Z or an offset"),
    ],
)
def test_a_wrong_word_is_named(folder: Folder, words: tuple[str, ...], said: str) -> None:
    ran = folder.run("explain", "shop.model", *words)
    assert ran.code == 2
    assert said in ran.err


def test_get_wants_one_item(folder: Folder) -> None:
    ran = folder.run("get", "shop.model", "Customer.by_city", "London")
    assert ran.code == 2
    assert "use `singletable query`" in ran.err


def test_a_data_file_that_is_not_there_is_not_made_by_reading(folder: Folder) -> None:
    ran = folder.run("get", "shop.model", "Customer.by_email", "x")
    assert ran.code == 1
    assert "the data file" in ran.err
    assert not (folder.path / "data").exists()


def test_a_negative_number_is_a_value_and_a_wrong_option_is_not(shop: Folder) -> None:
    owed = ("Order.of_customer", "ada@example.org", "-7")
    ran = shop.run("get", "shop.model", *owed)
    assert (ran.code, "nothing is found under Order.of_customer" in ran.err) == (1, True)
    options = ("--json", "--personal")
    explained = shop.run("explain", "shop.model", *owed, *options).out
    assert explained == shop.run("explain", "shop.model", *owed[:2], "number=-7", *options).out
    assert "nothing" not in shop.run("erase", "shop.model", *owed, "--dry-run").out
    wrong = shop.run("query", "shop.model", *owed[:2], "--limt", "5")
    assert wrong.code == 2
    assert "No such option: --limt" in wrong.err
    assert "--limit" in wrong.err
    assert "No such option: -x" in shop.run("query", "shop.model", *owed[:1], "-x").err
    assert "No such option" not in shop.run("query", "shop.model", *owed[:1], "--", "-x").err
