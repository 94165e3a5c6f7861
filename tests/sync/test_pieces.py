"""A large push read in pieces says what it says when it is read whole, and costs a small part of that."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable.errors import InvalidRequest
from singletable.sync import Limits
from singletable.sync.protocol import OtherVersion, Push, read_push
from singletable.sync.strict_json import elements, members, values_in

TEXTS = st.text(alphabet=st.characters(codec=None), max_size=12) | st.sampled_from(
    ["NaN", "\ud800", '"', "\\", "Infinity", "\\ud800", "]}", ",", "\x7f", "\u2028", "𝒳"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
MUTATIONS = st.fixed_dictionaries(
    {"clientID": st.sampled_from(["a", "b", 7, ""]), "id": st.sampled_from([1, 2, 0, "1"])},
    optional={"name": TEXTS | st.sampled_from(["rename", 3]), "args": VALUES, "timestamp": VALUES, "é": VALUES},
)
PUSHES = st.fixed_dictionaries(
    {"clientGroupID": st.sampled_from(["g", 1]), "mutations": st.lists(MUTATIONS, max_size=5) | VALUES},
    optional={"pushVersion": st.sampled_from([1, 1, 1, 0, "1"]), "schemaVersion": TEXTS, "junk": VALUES, "é": VALUES},
)
LIMITS = Limits(mutations=3, depth=3)


def said(body: bytes) -> Push | str:
    try:
        return read_push(body, LIMITS)
    except (InvalidRequest, OtherVersion) as error:
        return type(error).__name__


@given(PUSHES, st.booleans(), st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]))
def test_in_pieces_or_whole_is_the_same(push: Any, ascii_only: bool, separators: tuple[str, str]) -> None:
    text = json.dumps(push, ensure_ascii=ascii_only, separators=separators)
    body = text.encode(errors="replace")
    large = body[:-1].rstrip() + (b", " if len(push) else b"") + b'"padding":"' + b"x" * (1 << 16) + b'"}'
    assert said(large) == said(body)


@pytest.mark.parametrize(
    ("body", "most"),
    [
        (b'{"pushVersion":1,"pushVersion":0', None),
        (b'{"mutations":[],"clientGroupID":"g","mutations":[]', None),
        (b'{"clientGroupID":"g","clientGroup\\u0049D":"h"', None),
    ],
)
def test_a_name_twice_is_refused(body: bytes, most: None) -> None:
    with pytest.raises(InvalidRequest, match="duplicate name"):
        members(body + b',"padding":"' + b"x" * 100 + b'"}')


@pytest.mark.parametrize("body", [b"[1]", b"{}", b'[{"id":1}]', b'[{"clientID":"c"}]', b"[[]]", b"[1", b"[" * 5000])
def test_what_is_no_list_of_mutations_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        elements(body, 10)


def test_values_are_counted_as_far_as_they_matter() -> None:
    assert values_in(b'{"a":[1,2,{"b":"c,d"}],"e":null}', 3) > 3
    assert values_in(b'{"a":[1,2,{"b":"c,d"}],"e":null}', 7) == 7
    assert values_in(b'{"a":[1,2,{"b":"c,d"}],"e":null}', 8) == 8
    assert values_in(b'["' + rb",\\\"[{" * 1000 + b'"]', 10) == 2
    assert values_in(b"[" + b"0," * 10_000 + b"0]", 100) > 100


def mutation(id: int, args: bytes) -> bytes:
    return b'{"clientID":"c","id":%d,"name":"rename","args":%s,"timestamp":1}' % (id, args)


def push_of(*mutations: bytes, junk: bytes = b"0") -> bytes:
    head = b'{"pushVersion":1,"clientGroupID":"g","schemaVersion":"1","junk":%s,"mutations":[' % junk
    return head + b",".join(mutations) + b"]}"


def test_a_mutation_of_too_many_values_is_rejected_by_itself() -> None:
    many = b"[" + b",".join([b"0"] * 250_000) + b"]"
    first, second = read_push(push_of(mutation(1, many), mutation(2, b'{"name":"x"}')), Limits()).mutations[:2] or ()
    assert (first.client, first.id, first.name, first.args) == ("c", 1, "rename", None)
    assert "200000 values" in first.flaw
    assert (second.id, second.args, second.flaw) == (2, {"name": "x"}, "")


def test_of_a_push_of_too_many_values_the_first_are_taken() -> None:
    many = b"[" + b",".join([b"0"] * 90_000) + b"]"
    found = read_push(push_of(*(mutation(n, many) for n in range(1, 10))), Limits())
    assert [each.id for each in found.mutations] == [1, 2]


SIZE = 8 << 20
WORST = {
    "objects nobody asked for": push_of(junk=b"[" + b",".join([b'{"a":1}'] * (SIZE // 8 - 40)) + b"]"),
    "floats": push_of(junk=b"[" + b",".join([b"1.5"] * (SIZE // 4 - 40)) + b"]"),
    "the smallest mutations": push_of(*[b'{"clientID":0,"id":0}'] * (SIZE // 22 - 40)),
    "large arguments": push_of(*(mutation(n, b"[" + b"{}," * 330_000 + b"{}]") for n in range(1, 9))),
    "many with some arguments": push_of(*(mutation(n, b"[" + b"{}," * 13_000 + b"{}]") for n in range(1, 200))),
    "large arguments of texts": push_of(*(mutation(n, b"[" + b'"",' * 340_000 + b'""]') for n in range(1, 9))),
    "half characters": push_of(junk=b'"' + rb"\ud800" * (SIZE // 6 - 40) + b'"'),
    "numbers that are none": push_of(junk=b"[" + b",".join([b"NaN"] * (SIZE // 4 - 40)) + b"]"),
}


@pytest.mark.parametrize("body", WORST.values(), ids=WORST)
def test_the_worst_push_is_read_in_bounded_work_and_memory(body: bytes) -> None:
    """Read whole, objects nobody asked for and large arguments take 24 times their size in memory."""
    assert calls_of(lambda: refused_or_read(body)) < 1_500_000
    tracemalloc.start()
    try:
        refused_or_read(body)
        assert tracemalloc.get_traced_memory()[1] < 16 * len(body)
    finally:
        tracemalloc.stop()


def refused_or_read(body: bytes) -> None:
    try:
        read_push(body, Limits())
    except InvalidRequest:
        assert b'"clientID":0' in body


def calls_of(work: Callable[[], None]) -> int:
    """The calls of Python's and C's functions, which no load of the machine changes, as it does processor time."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
