"""An export of the shop of these tests."""

from __future__ import annotations

from pathlib import Path

from singletable import Database
from singletable.exchange import Exports
from tests.reports.models import Customer, Order, shop


def exported(db: Database, to: Path, format: str = "parquet") -> Path:
    """Two customers, three orders, and an order of nobody."""
    db.create_table(shop)
    db.create(Customer(email="ada@example.org", city="Bern", note="It's <b>", phone="+15551234567"))
    db.create(Customer(email="bob@example.org"))
    for number, email in enumerate(("ada@example.org", "ada@example.org", "bob@example.org", "gone@example.org")):
        db.create(Order(email=email, number=number, note=f"n{number}"))
    Exports(db, shop).export(to, format=format)  # type: ignore[arg-type]
    return to
