"""`pytest --scan-output`: what the library says of a test's data is held against that data.

While a test runs, the texts of its requests are noted at the port: items, keys, credentials. So is all that the library
says: each event, each record of the log at DEBUG, each span and metric, each error of the library with its notes and
causes, what the process prints, and what the programs print that it starts. A text that is in both is a leak, and fails
the test at its teardown. `output_scan_plugin.py` listens; `SHOWS` lists what shows values on purpose.

A text counts from 4 characters on, and where it is said as whole words; a word of the library's own code does not. Left
to `tests/hygiene/test_hygiene.py`, which plants them, are numbers, which meet others by chance. Names that the library
itself stores, as that of a task's function, are not values. An application's own error is the application's: events
tell its class, and its words are in a traceback alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from singletable.errors import SingletableError
from singletable.events import Event
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
_OWN_NAME = re.compile(
    r"(erase )?[A-Z]\w+\.[a-z]\w+|(job )?(check|collect|copy|erase|export|fill|plan|stats)-[a-z0-9]{8}|[0-9a-f]{64}"
    r"|shardId-\d+-[\w.-]+|[\w.-]+, process \d+"
)
"""A pattern, and its erasure; a job's id; the digest of a content, which is the name of its file; a stream's shard; the
process that has a lease."""

SHOWS: Final[Mapping[str, str]] = {
    "JobRefused": "it names the job, by the id that the library made of its kind and time",
    **dict.fromkeys(
        [f"stdout of {command}" for command in ("get", "query", "sql", "export", "stream")],
        "items, or parts of them, are what was asked for",
    ),
    "DeclarationError": "its keys are of samples: a class is declared before it has an item",
    "LookupError, the cause of InvalidRequest": "the application's own function raised it, with words of its own",
    "stdout of explain": "a request is shown with the values that were typed",
    "stdout of stats": "the largest partitions and items are named by their keys",
    "stdout of fill": "an item that can't be read is named by its key",
    "stderr of plan": "an item that refuses a plan is named by its key",
    "stdout of release": "what a copy held back is told with the times at which it is due",
    "stdout of restore": "what comes back is named, with the export or backup that it comes from",
    **dict.fromkeys(("stdout of job", "stderr of job", "stderr of fill"), "a job's own id, times and people"),
    **dict.fromkeys(("TableHeld", "the log, singletable.holds"), "the hold's source, as a path"),
    "stdout of check": "a finding names its item by the key, which leads to it",
    "stdout of erase": "the list and the receipt name what is deleted",
    "stdout of work": "a task that is dead is named by its key, by which it is retried or dropped",
}
"""What shows values on purpose, and why."""


PROGRAMS: Final[Mapping[str, str]] = {
    "tests/docs/test_pages.py": "a page's own program prints what it has read",
}
"""The tests whose own programs print, and why."""

INTO: Final = "SCAN_REQUESTS_INTO"
"""The variable that names a file, into which a program that a test starts writes its requests."""


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
        self.say(type(event).__name__, event.text, told)

    def say(self, where: str, *parts: object) -> None:
        """Note a text, of its parts."""
        if where not in SHOWS:
            self.said.append(Said(where, " ".join(map(str, parts))))

    def leaks(self) -> list[str]:
        """What was said of the data: where, and the text itself."""
        if into := os.environ.get(INTO):
            for request in Path(into).read_bytes().splitlines():
                self.note_request(request)
            Path(into).write_bytes(b"")
        errors = tuple(self.errors)  # to tell one may make others, which nobody is told
        seen: set[int] = set()
        for error in errors:
            parts = (error, error.summary(), error.what, error.hint, error.table, error.attribute, error.operation)
            self.say(type(error).__name__, *parts, error.args, *getattr(error, "__notes__", ()))
            for cause in _causes_of(error, seen):
                self.say(f"{type(cause).__name__}, the cause of {type(error).__name__}", cause, cause.args)
        self.names |= {f"{type(error).__name__}: {error}" for error in errors}  # of a dead task, it is stored
        self.names |= {error.code for error in errors}  # a job stores why a section was left
        self.names |= {part for error in errors for part in _literals(error)}
        self.names |= {word for error in errors for word in _members(error)}
        texts = {(one.where, one.text) for one in self.said}
        words = {word for _, text in texts for word in _words(text)}
        own = _own_words()
        foreign = (value for value in self.values - self.names if not own.issuperset(value.split()))
        candidates = (value for value in foreign if _longest_word(value) in words)
        patterns = {value: re.compile(rf"(?<!\w){re.escape(value)}(?!\w)") for value in candidates}
        return sorted(
            {f"{where}: {value!r}" for value, said in patterns.items() for where, text in texts if said.search(text)}
        )


def _literals(error: SingletableError) -> Iterator[str]:
    """The words between the places of the key patterns that an error shows: they are the program's."""
    keys = [error.key, *(getattr(failure, "key", None) for failure in getattr(error, "failures", ()))]
    for shown in (getattr(key, "shown", "") or "" for key in keys):
        for part in re.split(r"\{[^}]*\}| / ", shown):
            yield from (part, part.strip("#/- "), part.partition(" ")[2])  # behind the pattern's name


def _members(error: SingletableError) -> Iterator[str]:
    """The words for the members of an enum that a plan refuses: declared, now or before."""
    for difference in (one.difference for one in getattr(error, "counted", ())):
        if difference.rule.startswith("enum."):
            yield from _words(difference.what)


def _causes_of(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """The errors that a traceback shows before this one, but for the library's, which are noted themselves, and for
    those that another has shown: a thousand errors of one test may be a single chain, and a chain may be a circle."""
    shown = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while shown is not None and id(shown) not in seen:
        seen.add(id(shown))
        if not isinstance(shown, SingletableError):
            yield shown
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)


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
        elif name == "Item" and isinstance(value, dict):
            yield from value
            yield from _names_in(value)
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
    if _text_of(node.get("_type")) in _OWN_KEYS or _is_of_run(node.get("Item") or node.get("Key")):
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


def _is_of_run(item: Any) -> bool:
    """Whether an item, or a key, is that of a job, an apply or a restore: its id, times, options, steps."""
    return isinstance(item, dict) and any(_text_of(value).startswith(("_job", "_migration")) for value in item.values())


def _texts(kind: str, value: str) -> Iterator[str]:
    if value.startswith(_OWN_TEXTS) or value.endswith(("#", "_", "-")):  # a consumer's key, and the beginning of others
        return
    parts = value.split("#")[1:] if kind == "S" and "#" in value and " " not in value else ()
    yield from (text for text in (value, *parts) if len(text) >= _SHORTEST and not _OWN_NAME.fullmatch(text))


SCAN = OutputScan()
"""The scan of the test that runs; nothing is noted without the option."""


def note_program(command: str, out: str, err: str) -> None:
    """Note what a program printed that a test has started; `command` is the name in `singletable COMMAND`."""
    for stream, text in (("stdout", out), ("stderr", err)):
        if text:
            SCAN.say(f"{stream} of {command}", text)


def note_own_requests() -> None:
    """In a program that a scanned test has started: write its requests down for the test."""
    into = os.environ.get(INTO)
    if not into:
        return
    from singletable.wire.delivery import Delivery

    send_once: Any = Delivery._try  # pyright: ignore[reportPrivateUsage]
    file = os.open(into, os.O_WRONLY | os.O_APPEND)  # now: the program may run out of descriptors

    async def send_noted(self: Delivery, exchange: Any, request: Any, *args: Any, **options: Any) -> Any:
        os.write(file, request.body + b"\n")
        return await send_once(self, exchange, request, *args, **options)

    vars_of: Any = Delivery
    vars_of._try = send_noted


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scan-output", action="store_true", help="fail a test whose library says something of its data")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--scan-output"):
        from tests.support.output_scan_plugin import ScanPlugin

        config.pluginmanager.register(ScanPlugin(SCAN), "output_scan_of_each_test")
