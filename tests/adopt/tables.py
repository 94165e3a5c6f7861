"""Tables as other programs make them: their items, by the program that has them, and their layouts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from random import Random
from typing import Any
from uuid import UUID

from singletable import Index
from singletable.adopt import TableLayout
from singletable.operations import Item
from singletable.values import to_attribute_value

SHOP = TableLayout("shop", ("PK", "SK"), {"GSI1": Index("GSI1PK", "GSI1SK")})


def stored(**values: Any) -> Item:
    """An item from plain values."""
    return {name: to_attribute_value(value) for name, value in values.items()}


def shop(orders: int = 60, seed: int = 5) -> Iterator[dict[str, Any]]:
    """The items of a program on boto3: six kinds, no type attribute, ids that are in keys alone."""
    random = Random(seed)
    users = [f"u{number}" for number in range(20)]
    for number, user in enumerate(users):
        email = f"{'ABC'[number % 3]}{number * 7}@Example.com"
        index = {"GSI1PK": f"EMAIL#{email.lower()}", "GSI1SK": f"USER#{user}"}
        yield {"PK": f"USER#{user}", "SK": "PROFILE", "name": f"N. {number % 7}", "email": email, **index}
    for number in range(1, orders + 1):
        user, at = random.choice(users), 1_700_000_000 + random.randrange(10**7)
        iso = datetime.fromtimestamp(at, timezone.utc).isoformat()
        status = random.choice(["open", "paid"])
        yield {
            "PK": f"USER#{user}",
            "SK": f"ORDER#{number}",
            "orderId": number,
            "userId": user,
            "status": status,
            "total": number * 3,
            "createdAt": iso,
            "GSI1PK": f"STATUS#{status}",
            "GSI1SK": iso,
        }
        yield {"PK": f"ORDER#{number}", "SK": f"ITEM#{number * 7 % 1000:04}", "sku": f"s-{number % 17}", "qty": 1}
        identifier = UUID(int=random.getrandbits(128))
        yield {"PK": f"LOG#{iso[:10]}", "SK": f"{at * 1000}#{identifier}", "ts": at * 1000, "msg": "m"}
        yield {"PK": f"ORG#{number % 20}", "SK": f"MEMBER#{user}#{number}", "role": "ab"[number % 2], "member": user}
        yield {"PK": f"SESSION#{identifier.hex}", "SK": "METADATA", "expires": at + 86_400}
