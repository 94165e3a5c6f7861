"""JSON from outside: read as what it says, or found to be flawed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable.errors import InvalidRequest
from singletable.sync.strict_json import Flaw, flaw_in, read_json

SOUND: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(SOUND)
def test_a_sound_value_comes_through(value: Any) -> None:
    found = read_json(json.dumps(value).encode())
    assert found == value
    assert flaw_in(found, 64) == ""


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"x": [{"a": 1, "a": 1}]}',
        "NaN",
        "[Infinity]",
        '{"x": -Infinity}',
        "1e999",
        "[-1e999]",
        "1" * 5000,
        "1" * 350,
        '"\\ud800"',
        '["\\udc00x"]',
        '{"\\ud800": 1}',
    ],
)
def test_what_a_lenient_reader_would_bend_is_found(text: str) -> None:
    assert flaw_in(read_json(text.encode()), 64)


@pytest.mark.parametrize("body", [b"", b"{", b"{}{}", b"\xff", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"{'a': 1}"])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_json(body)
    assert caught.value.__cause__ is None, "the parser's own words may quote the body"


@pytest.mark.parametrize("body", [b"[" * 1_000_000, b'{"a":' * 1_000_000, b"[" * 100_000 + b"]" * 100_000])
def test_a_bomb_of_brackets_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read_json(body)


def test_depth_is_counted_as_far_as_it_may_go() -> None:
    def nested(levels: int) -> Any:
        return read_json(b'{"a":' * (levels - 1) + b"[1]" + b"}" * (levels - 1))

    assert flaw_in(nested(64), 64) == ""
    assert flaw_in(nested(65), 64) == "nested over 64 levels"
    assert flaw_in(nested(500), 64) == "nested over 64 levels"


def test_a_flaw_deep_inside_leaves_the_rest_as_it_is() -> None:
    found = read_json(b'{"good": 1, "bad": {"a": 1, "a": 2}}')
    assert found["good"] == 1
    assert isinstance(found["bad"], Flaw)


@pytest.mark.parametrize("text", ["100000000000000000000", "9007199254740993", "-123456789012345678901", "1" * 300])
def test_a_large_whole_number_is_the_float_that_javascript_has(text: str) -> None:
    found = read_json(text.encode())
    assert type(found) is float
    assert found == float(text)
