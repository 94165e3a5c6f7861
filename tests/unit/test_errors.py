"""What every error says of the place."""

from __future__ import annotations

from singletable import key_of
from singletable.errors import Conflict, NotFound
from tests.support.models import User, app

KEY = key_of(User(email="ada@example.org", name="Ada", age=36))


def test_a_key_names_its_table() -> None:
    error = NotFound("nothing there", key=KEY, operation="update")
    assert error.table == app.name
    assert f"table {app.name}" in str(error)


def test_a_table_that_is_said_goes_first() -> None:
    """An item that moves lies in another table than its key names."""
    assert Conflict("it moved", key=KEY, table="old").table == "old"


def test_what_is_no_key_names_none() -> None:
    assert Conflict("x").table is None
    assert Conflict("x", key="text").table is None
