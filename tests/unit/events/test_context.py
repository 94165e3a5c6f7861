"""The stored form of a trace's context, and the listener that carries contexts."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable.errors import InvalidRequest, InvalidValue
from singletable.events import ClockCorrected, Event, Handled, Listeners, Sent, TraceContext
from singletable.events.context import MAX_STATE_BYTES

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FOREIGN = (
    *("", " ", "nonsense", PARENT[:-1], PARENT + "0", PARENT.upper(), "ff" + PARENT[2:]),
    *(f"00-{'0' * 32}-b7ad6b7169203331-01", f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01"),
    *(None, 7, b"x", ["x"], {"S": PARENT}, "\ud800", PARENT.replace("0", "\u0660")),
)
"""Texts of other programs, and values that are no text."""


class Carries:
    """A carrier that gives one context, and notes the work."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.noted: list[tuple[str, Any]] = []

    def __call__(self, event: Event) -> None: ...

    def context(self, sent: Sent) -> TraceContext | None:
        self.sent.append(sent)
        return TraceContext(PARENT, "a=1")

    @contextmanager
    def handling(self, handled: Handled) -> Generator[None]:
        self.noted.append(("begin", handled.name))
        try:
            yield
        except BaseException as error:
            self.noted.append(("error", type(error)))
            raise
        self.noted.append(("end", handled.name))


@pytest.mark.parametrize("state", ["", "a=1", "a=1,b=2"])
def test_a_context_is_read_back(state: str) -> None:
    context = TraceContext(PARENT, state)
    assert TraceContext.of_text(context.text) == context
    assert TraceContext.of_text(context.text_of_change("x-_9")) == context
    assert context.text_of_change("x-_9") != context.text_of_change("x-_8")


@pytest.mark.parametrize("stored", FOREIGN, ids=repr)
def test_another_form_counts_as_missing(stored: Any) -> None:
    assert TraceContext.of_text(stored) is None
    assert TraceContext.of_headers(stored) is None


@pytest.mark.parametrize("state", ["\n", "x\u00e9", "\x00", "a" * 10_000, 7, None])
def test_a_state_of_another_form_is_left_out(state: Any) -> None:
    assert TraceContext.of_headers(PARENT, state) == TraceContext(PARENT)


@given(st.text() | st.binary() | st.none())
def test_no_text_raises(text: Any) -> None:
    context = TraceContext.of_text(text)
    assert context is None or TraceContext.of_text(context.text) == context


def test_a_wrong_context_is_refused_where_it_is_made() -> None:
    with pytest.raises(InvalidValue, match="traceparent"):
        TraceContext("nonsense")
    with pytest.raises(InvalidValue):
        TraceContext(PARENT, "a=1\nb=2")


def test_a_long_state_loses_whole_entries_from_its_end() -> None:
    entries = [f"vendor{number}=" + "v" * 50 for number in range(20)]
    kept = TraceContext(PARENT, ",".join(entries)).bounded_state
    assert kept.split(",") == entries[: kept.count(",") + 1]
    assert MAX_STATE_BYTES - 60 < len(kept) <= MAX_STATE_BYTES
    assert TraceContext(PARENT, "v=" + "x" * 300).text == PARENT


def test_the_carrier_is_asked_and_told() -> None:
    carrier = Carries()
    listeners = Listeners([print, carrier])
    assert listeners.context_text("task", "mail", "shop") == f"{PARENT} a=1"
    assert carrier.sent == [Sent(kind="task", name="mail", place="shop")]
    with listeners.handling("task", "mail", "shop", attempt=2) as work:
        assert carrier.noted == [("begin", "mail")]
    assert work.error is None
    with pytest.raises(KeyError), listeners.handling("task", "mail", "shop"):
        raise KeyError("x")
    with listeners.handling("task", "mail", "shop") as work:
        work.error = SystemExit(1)  # as a value: the work goes on
    assert carrier.noted[1:] == [
        *(("end", "mail"), ("begin", "mail"), ("error", KeyError), ("begin", "mail"), ("error", SystemExit)),
    ]


def test_without_a_carrier_nothing_is_given() -> None:
    listeners = Listeners([print])
    assert listeners.context_text("task", "mail", "shop") is None
    with pytest.raises(KeyError), listeners.handling("task", "mail", "shop"):
        raise KeyError("x")


def test_two_carriers_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="2 of the listeners carry") as caught:
        Listeners([Carries(), Carries()])
    assert "one listener" in caught.value.hint


@pytest.mark.parametrize("where", ["context", "handling", "enter", "exit"])
def test_a_carrier_that_fails_changes_nothing_for_the_work(where: str, caplog: pytest.LogCaptureFixture) -> None:
    class Fails(Carries):
        def context(self, sent: Sent) -> TraceContext | None:
            return TraceContext("nonsense") if where == "context" else super().context(sent)

        def handling(self, handled: Handled) -> Any:
            if where == "handling":
                raise RuntimeError("handling")
            return self._block()

        @contextmanager
        def _block(self) -> Generator[None]:
            if where == "enter":
                raise RuntimeError("enter")
            try:
                yield
            finally:
                if where == "exit":
                    raise RuntimeError("exit")

    listeners, done = Listeners([Fails()]), []
    for _ in range(2):
        assert listeners.context_text("task", "mail", "shop") == (None if where == "context" else f"{PARENT} a=1")
        with listeners.handling("task", "mail", "shop") as work:
            done.append(1)
            work.error = KeyError("x")
    records = [record for record in caplog.records if record.name == "singletable.events"]
    assert len(done) == 2
    assert [record.levelno for record in records] == [logging.ERROR]
    assert "Fails raised at its" in records[0].getMessage()


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_no_context_is_told_and_not_stored(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def nothing() -> None: ...

    class Gives(Carries):
        def context(self, sent: Sent) -> Any:
            return nothing() if is_async else PARENT

    listeners = Listeners([Gives()])
    assert listeners.context_text("task", "mail", "shop") is None
    assert listeners.context("change", "PutItem", "shop") is None
    (record,) = caplog.records
    assert "Gives raised at its context()" in record.getMessage()
    assert f"a {'coroutine' if is_async else 'str'} is not a TraceContext" in str(record.exc_info)


def test_a_carrier_is_not_asked_for_its_own_writes() -> None:
    class Writes(Carries):
        def __call__(self, event: Event) -> None:
            assert listeners.context("change", "PutItem", "log") is None

        def context(self, sent: Sent) -> TraceContext | None:
            assert listeners.context("change", "PutItem", "log") is None
            return super().context(sent)

    carrier = Writes()
    listeners = Listeners([carrier])
    assert listeners.context_text("task", "mail", "shop") == f"{PARENT} a=1"
    listeners.emit(ClockCorrected(endpoint="http://x", ahead_seconds=1, then=""))
    assert [sent.kind for sent in carrier.sent] == ["task"]
