"""The README's picture shows what its program stores."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from singletable.raw import Raw
from tests.docs.pages import ROOT, run

ORDERS = [("ada@example.org", 9, "paid", 3), ("ada@example.org", 10, "open", 11), ("bob@example.org", 1, "open", 12)]
KEYS = ("pk", "sk", "gsi1pk", "gsi1sk")


def test_its_rows_are_the_keys_that_are_stored() -> None:
    """Row by row: the texts of the picture without its tags."""
    page = run(ROOT / "README.md").__dict__
    for customer, number, state, day in ORDERS:
        placed_at = datetime(2026, 11, day, 9, 30, tzinfo=UTC)
        page["db"].put(page["Order"](customer=customer, number=number, state=state, placed_at=placed_at))
    items = Raw(page["db"], page["app"]).select("SELECT * FROM {table}")
    stored = {tuple(item[name] for name in KEYS) for item in items}
    texts = re.findall(r"<text .*?>(.*?)</text>", (ROOT / "docs/images/idea.svg").read_text())
    drawn = [re.sub("<.*?>", "", text) for text in texts]
    rows = [tuple(drawn[n : n + 4]) for n, text in enumerate(drawn) if text.startswith("customer#") and "|" not in text]
    assert len(rows) == len(ORDERS)
    assert set(rows) <= stored
