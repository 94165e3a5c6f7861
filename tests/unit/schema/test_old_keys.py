"""What `was=` refuses when the class is made, each by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from singletable import ANY, Entity, Key, Table
from singletable.errors import DeclarationError
from singletable.streams import Changes

Function = Callable[..., Key]


def made(new: Function, was: Function, in_table: Table | None = None) -> type[Entity]:
    table = Table("app") if in_table is None else in_table

    class Item(Entity, table=table, type="item"):
        id: str
        number: int
        name: str

        of = table.key(was=was)(new)

    return Item


def by_id(id: str) -> Key:
    return f"item#{id}", "item"


def by_both(id: str, number: int) -> Key:
    return f"items#{id}", f"{number}"


def listed(id: str, number: int = ANY) -> Key:
    return f"items#{id}", f"{number}"


def wide(id: str, number: int = ANY) -> Key:
    return f"items#{id}", f"{number:06}"


def by_name(id: str, name: str) -> Key:
    return f"items#{id}", f"name#{name}"


def test_a_key_of_more_attributes() -> None:
    assert made(by_both, by_id)
    assert made(wide, listed)


def test_an_attribute_that_is_lost() -> None:
    with pytest.raises(DeclarationError, match=r"Item\.of\(was=by_both\): the old key holds number") as caught:
        made(by_id, by_both)
    assert "Put {number} into the new key" in str(caught.value)


def test_keys_that_could_be_equal() -> None:
    with pytest.raises(DeclarationError, match="could be equal, as in item# / item"):
        made(by_id, by_id)


@pytest.mark.parametrize("was", [by_id, by_name])
def test_a_list_in_two_orders(was: Function) -> None:
    def new(id: str, number: int = ANY, name: str = ANY) -> Key:
        return f"items#{id}", f"{number}#{name}"

    with pytest.raises(DeclarationError, match="can't be listed in one order") as caught:
        made(new, was)
    assert "Give number no default" in str(caught.value)


def test_a_list_over_several_old_partitions() -> None:
    def new(id: str, number: int = ANY) -> Key:
        return f"all#{id}", f"n#{number}"

    def was(id: str, number: int) -> Key:
        return f"all#{number}#{id}", "item"

    with pytest.raises(DeclarationError, match="can't be listed"):
        made(new, was)


def test_texts_without_an_order() -> None:
    def new(id: str, name: str = ANY, number: int = ANY) -> Key:
        return f"all/{id}", f"x/{name}/{number}"

    def was(id: str, name: str, number: int) -> Key:
        return f"all/{id}", f"y/{name}/{number}"

    with pytest.raises(DeclarationError, match="can't be listed"):
        made(new, was, Table("app", separator="/"))


def test_a_parameter_of_another_type() -> None:
    def was(id: int) -> Key:
        return f"item#{id}", "item"

    with pytest.raises(DeclarationError, match=r"Item\.of\(was=was\): id is int here and str"):
        made(by_both, was)


def test_a_table_that_guards_overlap() -> None:
    with pytest.raises(DeclarationError, match='overlap="guard"'):
        made(by_both, by_id, Table("app", overlap="guard"))


def test_another_class_that_could_lie_under_the_old_key() -> None:
    table = Table("app")

    class Other(Entity, table=table, type="other"):  # pyright: ignore[reportUnusedClass]
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"item#{id}", "item"

    with pytest.raises(DeclarationError, match="Item and Other could have the same key, as in item# / item"):
        made(by_both, by_id, table)


def test_the_library_s_own_keys() -> None:
    def was(id: str) -> Key:
        return f"_unique#{id}", "_unique"

    with pytest.raises(DeclarationError, match="guard of unique values"):
        made(by_both, was)


def test_a_handler_that_would_see_a_move() -> None:
    table = Table("app", stream="new_and_old")
    changes = Changes(table)
    kind = made(by_both, by_id, table)
    with pytest.raises(DeclarationError, match="an item that moves would be told as removed"):
        changes.on(kind).removed(print)
    changes.on(kind).modified(print)
