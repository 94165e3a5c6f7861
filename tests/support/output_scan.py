"""`pytest --scan-output`: what the library says of a test's data is held against that data.

While a test runs, the texts of its requests are noted at the port: items, keys, credentials. So is all that the library
says: each event, made as at DEBUG, from which the log makes its records, and each error of the library. A text that is
in both is a leak, and fails the test at its teardown.

A text counts from 4 characters on, and where it is said as whole words; a word of the library's own code does not. Left
to `tests/hygiene/test_hygiene.py`, which plants them, are numbers, which meet others by chance. Names that the library
itself stores, as that of a task's function, are not values. An application's own error is the application's: events
tell its class, and its words are in a traceback alone.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from singletable.errors import SingletableError
from singletable.events import Event, Listeners
from singletable.wire.delivery import Delivery
from tools.distributions import modules

_SHORTEST = 4
_OWN_KEYS = ("_lease", "_consumer", "_try", "_aside")
"""How the keys begin of what a consumer of changes keeps: its name, streams and shards."""
_OWN_TEXTS = (*_OWN_KEYS, "Unfinished: ")
"""Those, and the error that is stored of a task whose workers ended."""
_MOST = 20_000
"""Texts of one test."""
_LEASES = "-leases"
"""The end of the name of a table that holds nothing of an application."""
_NAMES = frozenset(
    ("_type", "consumer", "stream", "shard", "owner", "wanted_by", "position", "function", "why", "since", "error")
)
"""Attributes of the library's own items that hold names, times and sources of its own."""


@dataclass
class Said:
    """One thing that the library said, and where."""

    where: str
    text: str


@dataclass
class OutputScan:
    """The data of one test, and what the library said meanwhile."""

    values: set[str] = field(default_factory=set[str])
    names: set[str] = field(default_factory=set[str])
    """Of tables, indexes and attributes: they may be said."""
    said: list[Said] = field(default_factory=list[Said])
    errors: list[SingletableError] = field(default_factory=list[SingletableError])

    def forget(self) -> None:
        for kept in (self.values, self.names, self.said, self.errors):
            kept.clear()

    # --- the data -----------------------------------------------------------------------------------------------------
    def note_request(self, body: bytes) -> None:
        """Note the texts of a request to a table."""
        try:
            asked: Any = json.loads(body)
        except ValueError:
            return
        if isinstance(asked, dict) and len(self.values) < _MOST:
            self.names.update(_names_in(asked))
            values = {*_values_in("", asked)}
            self.values |= values
            self.names |= {value.partition("#")[0] for value in values if "#" in value}  # the word of a key's class

    def note_secret(self, *secrets: str | None) -> None:
        self.values.update(secret for secret in secrets if secret and len(secret) >= _SHORTEST)

    # --- what is said -------------------------------------------------------------------------------------------------
    def hear(self, event: Event) -> None:
        """Note an event as its record shows it: its text, and its fields but for an error."""
        fields = {name: getattr(event, name) for name in event.__struct_fields__}
        told = {name: value for name, value in fields.items() if not isinstance(value, BaseException)}
        self.said.append(Said(type(event).__name__, f"{event.text} {told!r}"))

    def leaks(self) -> list[str]:
        """What was said of the data: where, and the text itself."""
        for error in self.errors:
            parts = (str(error), repr(error), error.what, error.hint, error.table, error.attribute, error.operation)
            self.said.append(Said(type(error).__name__, " ".join(map(str, parts))))
        texts = {(one.where, one.text) for one in self.said}
        words = {word for _, text in texts for word in _words(text)}
        candidates = (v for v in self.values - self.names - _own_words() if _longest_word(v) in words)
        patterns = {value: re.compile(rf"(?<!\w){re.escape(value)}(?!\w)") for value in candidates}
        return sorted(
            {f"{where}: {value!r}" for value, said in patterns.items() for where, text in texts if said.search(text)}
        )


@cache
def _own_words() -> frozenset[str]:
    """The words of the library's code: its messages, and the names in them."""
    return frozenset(word for path in modules() for word in re.findall(r"[\w-]+", path.read_text()))


def _words(text: str) -> Iterator[str]:
    return (word for word in re.split(r"[^\w@%+-]+", text) if word)


def _longest_word(value: str) -> str:
    return max(_words(value), key=len, default=value)


def _names_in(asked: dict[str, Any]) -> Iterator[str]:
    if "client" in asked and "name" in asked:  # of a mutation
        yield _text_of(asked["name"])
    for name, value in asked.items():
        if name in ("TableName", "IndexName") and isinstance(value, str):
            yield value
        elif name == "_type":
            yield _text_of(value)
        elif name == "ExpressionAttributeNames" and isinstance(value, dict):
            yield from map(str, value.values())
        elif isinstance(value, dict):
            yield from _names_in(value)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    yield from _names_in(one)


def _text_of(value: Any) -> str:
    return str(value.get("S", "")) if isinstance(value, dict) else ""


def _values_in(name: str, node: Any) -> Iterator[str]:
    """The texts of attribute values anywhere in a request; those of an attribute in `_NAMES` are left out."""
    if isinstance(node, list):
        for one in node:
            yield from _values_in(name, one)
    if not isinstance(node, dict) or str(node.get("TableName", "")).endswith(_LEASES):
        return
    if _text_of(node.get("_type")) in _OWN_KEYS:
        return
    for key, value in node.items():
        if key in ("S", "B") and isinstance(value, str) and len(node) == 1:
            if name not in _NAMES:
                yield from _texts(key, value)
        elif key in ("SS", "BS") and isinstance(value, list) and len(node) == 1:
            for one in value:
                yield from _texts(key[0], str(one))
        elif not key.endswith(_LEASES):  # of a batch: tables by their names
            yield from _values_in(name if key in ("L", "M") else key, value)


def _texts(kind: str, value: str) -> Iterator[str]:
    if value.startswith(_OWN_TEXTS) or value.endswith(("#", "_", "-")):  # a consumer's key, and the beginning of others
        return
    if len(value) >= _SHORTEST:
        yield value
    if kind == "S" and "#" in value and " " not in value:
        yield from (part for part in value.split("#")[1:] if len(part) >= _SHORTEST)


# --- the option -------------------------------------------------------------------------------------------------------
def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scan-output", action="store_true", help="fail a test whose library says something of its data")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--scan-output"):
        config.pluginmanager.register(ScanPlugin(), "output_scan_of_each_test")


class ScanPlugin:
    """Notes what each test does, and says at its end what leaked."""

    def __init__(self) -> None:
        self.scan = scan = OutputScan()
        send_once, emit, listen = Delivery._try, Listeners.emit, Listeners.__init__
        begin = SingletableError.__init__

        async def send_noted(self: Delivery, exchange: Any, request: Any, *args: Any, **options: Any) -> Any:
            scan.note_request(request.body)
            if (signer := self._signer) is not None:
                scan.note_secret(signer.credentials.secret_key, signer.credentials.session_token)
            return await send_once(self, exchange, request, *args, **options)

        def emit_noted(self: Listeners, event: Event) -> None:
            scan.hear(event)
            emit(self, event)

        def listen_to_all(self: Listeners, *args: Any, **options: Any) -> None:
            listen(self, *args, **options)
            self.listens = True

        def begin_noted(self: SingletableError, *args: Any, **options: Any) -> None:
            begin(self, *args, **options)
            scan.errors.append(self)

        vars_of: Any = (
            (Delivery, "_try", send_noted),
            (Listeners, "emit", emit_noted),
            (Listeners, "__init__", listen_to_all),
            (SingletableError, "__init__", begin_noted),
        )
        for kind, name, function in vars_of:
            setattr(kind, name, function)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Any:
        self.scan.forget()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Any:
        try:
            return (yield)
        finally:
            leaks = self.scan.leaks()
            self.scan.forget()
            if leaks:
                pytest.fail("said of its data:\n  " + "\n  ".join(leaks), pytrace=False)
