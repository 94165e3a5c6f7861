"""`erase`: a customer of the sample, with the orders of the partition."""

from __future__ import annotations

import json

from tests.e2e.cli.conftest import Folder

ADA = ("erase", "shop.model", "Customer.by_email", "ada@example.org")


def test_a_list_first_and_a_receipt(shop: Folder) -> None:
    account = json.loads(shop.run("get", "shop.model", "Account.by_email", "ada@example.org", "--json").out)
    orders = len(account["orders"])
    assert orders
    listed = shop.run(*ADA, "--dry-run")
    assert listed.out, listed.err
    assert (listed.code, listed.out.splitlines()[0]) == (
        0,
        f"shop: 1 Customer, {orders} Order to delete, for {2 + 2 * orders} write units",
    )
    assert "ada" not in listed.out
    keys = json.loads(shop.run(*ADA, "--dry-run", "--json", "--personal").out)["items"]
    assert keys[0] == {
        "class": "Customer",
        "does": "delete",
        "what": "",
        "key": ["customer#ada@example.org", "customer"],
    }
    refused = shop.run(*ADA)
    assert (refused.code, f"deletes 1 Customer, {orders} Order of shop for good. Add --yes" in refused.err) == (2, True)
    ran = shop.run(*ADA, "--yes", "--by", "operator", "--to", "receipt.json")
    assert (ran.code, ran.out.splitlines()[0].startswith(f"shop: deleted 1 Customer, {orders} Order (")) == (0, True)
    assert "copies of the data file" in ran.out
    receipt = json.loads((shop.path / "receipt.json").read_text())
    assert (receipt["deleted"], receipt["by"], receipt["runs"]) == ({"Customer": 1, "Order": orders}, "operator", 1)
    assert "ada" not in json.dumps(receipt)
    assert shop.run("check", "shop.model").code == 0
    again = shop.run(*ADA, "--yes")
    assert (again.code, "nothing belongs to what Customer.by_email names" in again.err) == (1, True)
    assert "ada" not in again.err


REVIEW = """

class Review(Entity, table=app, type="review"):
    number: int
    author: str = field(belongs_to=Customer.email)

    @app.key
    @staticmethod
    def by_number(number: int) -> Key:
        return f"review#{number}", "review"
"""


REVIEWS = """
from shop.model import Review
from singletable import connect

with connect("local:data/singletable.db") as db:
    db.write_many(puts=[Review(number=number, author="ada@example.org") for number in range(3)])
"""


def test_its_scans_are_jobs(shop: Folder) -> None:
    path = shop.path / "shop" / "model.py"
    path.write_text(path.read_text() + REVIEW)
    (shop.path / "reviews.py").write_text(REVIEWS)
    assert shop.python("reviews.py").code == 0
    refused = shop.run(*ADA, "--yes", "--sections", "2")
    assert (refused.code, "--sections is for a job. Add --job." in refused.err) == (2, True)
    ran = shop.run(*ADA, "--yes", "--job", "--sections", "2", "--json")
    assert (ran.code, json.loads(ran.out)["deleted"]["Review"]) == (0, 3)
    assert ran.err.count("shop: job erase-") == ran.err.count("a scan in 2 sections") >= 2
    assert " items, " in ran.err
    assert "ada" not in ran.err
    assert shop.run("job", "list", "shop.model").out == ""


def test_as_json(shop: Folder) -> None:
    ran = shop.run(*ADA, "--yes", "--json")
    receipt = json.loads(ran.out)
    assert (ran.code, receipt["table"], receipt["kept"]) == (0, "shop", [])
    assert [place["where"] for place in receipt["remaining"]] == [
        "copies of the data file",
        "exports and other systems",
    ]
