"""`stats`: its tables, JSON, charts and page, and what it says of the cost."""

from __future__ import annotations

import json

from tests.e2e.cli.conftest import Folder


def test_the_shape_is_shown_with_its_cost(shop: Folder) -> None:
    ran = shop.run("stats", "shop.model")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("shop: 33 items, ")
    assert "Largest item collections" in ran.out
    assert "to scan" in ran.err
    assert "1 request, 1 read unit" in ran.err
    assert "this table declares none" in ran.err


def test_json_has_the_same_numbers(shop: Folder) -> None:
    (said,) = json.loads(shop.run("stats", "shop.model", "--json").out)
    assert [(each["name"], each["items"]) for each in said["classes"]] == [("Order", 30), ("Customer", 3)]
    assert said["indexes"][0]["items"] == 32
    assert said["collections"][0]["partition"] == "customer#ada@example.org"


def test_charts_in_the_terminal_and_on_a_page(shop: Folder) -> None:
    ran = shop.run("stats", "shop.model", "--chart", "--html", "shape.html")
    assert ran.code == 0, ran.err
    assert "items by size" in ran.out
    assert "Order 5,4" in ran.out
    page = (shop.path / "shape.html").read_text()
    assert page.count("<svg") == 3
    assert "<script" not in page


def test_a_missing_table_is_an_error(folder: Folder) -> None:
    ran = folder.run("stats", "shop.model", "--db", "local")
    assert ran.code == 1
    assert "the table is missing" in ran.err
