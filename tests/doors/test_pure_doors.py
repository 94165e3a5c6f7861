"""The law of values: through every door a value is equal and of the same type, or refused by name before it is out."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from singletable.errors import DeclarationError, InvalidValue, TooLarge
from singletable.values import VALUE_TYPES
from tests.doors.doors import DOORS, JSON_DOORS, Through, slow
from tests.doors.drawn import ALL, SINGLE, subclassed
from tests.doors.law import is_same

REFUSED = InvalidValue, TooLarge, click.UsageError


def draws(declared: dict[str, tuple[Any, st.SearchStrategy[Any]]]) -> st.SearchStrategy[tuple[str, Any]]:
    """The name of a declared type, and a value."""
    return st.sampled_from(list(declared)).flatmap(lambda name: st.tuples(st.just(name), declared[name][1]))


some, many = (
    settings(max_examples=most, suppress_health_check=list(HealthCheck), deadline=None) for most in (100, 500)
)


@cache
def through(door: str, declared: str) -> Through:
    return {**DOORS, **JSON_DOORS}[door](ALL[declared][0])


def stored(name: str, value: Any) -> bool:
    """Whether an item holds the value; where it refuses it, it says of which attribute, of which type, what to do."""
    try:
        read = slow(ALL[name][0])(value)
    except InvalidValue as error:
        refused = error
    else:
        assert is_same(read, value, ALL[name][0]), (read, value)
        return True
    assert (refused.attribute or "").startswith(("Held", "value")), refused
    assert refused.hint, refused
    return False


@some
@given(drawn=draws(ALL))
def test_what_is_stored_is_the_same_through_every_door(drawn: tuple[str, Any]) -> None:
    """Each draw through all doors: to draw takes most of the time."""
    check_every_door(*drawn)


@pytest.mark.soak
@many
@given(drawn=draws(ALL))
def test_what_is_stored_is_the_same_through_every_door_for_longer(drawn: tuple[str, Any]) -> None:
    check_every_door(*drawn)


def check_every_door(name: str, value: Any) -> None:
    is_stored = stored(name, value)
    for door in DOORS:
        if is_stored:
            read = through(door, name)(value)
            assert is_same(read, value, ALL[name][0]), (door, read, value)
        else:
            with pytest.raises(REFUSED):
                through(door, name)(value)


@many
@given(drawn=draws(ALL))
def test_what_has_a_form_in_json_is_the_same(drawn: tuple[str, Any]) -> None:
    """A type without one is refused when it is declared."""
    name, value = drawn
    for door in JSON_DOORS:
        with suppress(*REFUSED, DeclarationError):
            read = through(door, name)(value)
            assert is_same(read, value, ALL[name][0]), (door, read, value)


@pytest.mark.parametrize("door", [*DOORS, *JSON_DOORS])
@pytest.mark.parametrize("name", [name for name in SINGLE if name in {kind.__name__ for kind in VALUE_TYPES}])
def test_no_door_refuses_an_ordinary_value(door: str, name: str) -> None:
    """A door that refuses all would keep the law; nor does one refuse a subclass's."""
    sample = VALUE_TYPES[SINGLE[name][0]].sample
    for value in (sample, subclassed(sample)) if door in DOORS else (sample,):
        assert is_same(through(door, name)(value), value, SINGLE[name][0])
