"""Two customers and thirty orders, put into the database that the command line names."""

import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from shop.model import Customer, Order, State  # type: ignore[import-not-found]  # the copy beside this one

from singletable import connect

FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOSTILE = "B\x1b]0;owned\x07o\x1b[31mb\u202e[red]!"

with connect(sys.argv[1]) as db:
    db.put(Customer(email="ada@example.org", name="Ada", city="London", tags={"b", "a"}))
    db.put(Customer(email="bob@example.org", name=HOSTILE, city="London"))
    db.put(Customer(email="cyd@example.org", name="Cyd"))
    for number in range(30):
        state = State.OPEN if number % 2 else State.PAID
        placed_at = FIRST + timedelta(days=number)
        total = Decimal("12.5") + number
        db.put(Order(email="ada@example.org", number=number, placed_at=placed_at, state=state, total=total))
