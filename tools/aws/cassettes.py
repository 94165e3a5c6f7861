"""Cassettes: the answers of each test in their order, without secrets, in one compressed file for a test module.

A line is a test: its id, and for each request what was asked, the fingerprint of its body, and the answer. The body of
a request is not kept. `manifest.json` beside them says which service gave the answers, and when.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import threading  # noqa: TID251
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import msgspec

from tools.aws.account import HttpAnswer
from tools.aws.gateway import refusal
from tools.aws.scanner import secrets_in
from tools.aws.scrubbing import GATEWAY, Scrubber

FOLDER = Path(__file__).parents[2] / "tests" / "cassettes"
MANIFEST = "manifest.json"
_SUFFIX = ".jsonl.xz"
_SETS = ("SS", "NS", "BS")


@dataclass(frozen=True)
class Taken:
    """One answer, and the request that it was given to."""

    what: str
    """The action, or the method and target of S3."""
    fingerprint: str
    answer: HttpAnswer


class Recorder:
    """Keeps what a gateway hands on, by test."""

    def __init__(self, secrets: Iterable[str], account: str, gateway: str) -> None:
        self._secrets = [secret for secret in secrets if len(secret) > 7]
        self._account, self._gateway = account, gateway
        self._taken: dict[str, list[Taken]] = defaultdict(list)
        self._scrubbers: dict[str, Scrubber] = {}
        self._guard = threading.Lock()

    def take(self, test: str, what: str, request: bytes, answer: HttpAnswer) -> None:
        with self._guard:
            scrubber = self._scrubbers.get(test)
            if scrubber is None:
                scrubber = self._scrubbers[test] = Scrubber(self._secrets, self._account, self._gateway)
            asked = scrubber.scrub(request)
            kept = HttpAnswer(answer.status, scrubber.headers(answer.headers), scrubber.scrub(answer.body))
            self._taken[test].append(Taken(what, fingerprint(asked), kept))

    def write(self, folder: Path, tests: Iterable[str], about: Mapping[str, Any]) -> dict[str, str]:
        """Write the cassettes of some tests; returns the tests that are left out, each with the reason."""
        left: dict[str, str] = {}
        modules: dict[str, list[str]] = defaultdict(list)
        for test in sorted(set(tests)):
            line = json.dumps({"test": test, "taken": [_saved(each) for each in self._taken[test]]})
            plain = line + "".join(_text(each.answer.body) for each in self._taken[test])
            if found := next(secrets_in(plain, self._secrets, self._account), ""):
                left[test] = found
            elif self._taken[test]:
                modules[test.partition("::")[0]].append(line)
        folder.mkdir(parents=True, exist_ok=True)
        _delete_cassettes(folder)
        for module, lines in modules.items():
            (folder / cassette_name(module)).write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))
        (folder / MANIFEST).write_text(json.dumps(about, indent=2) + "\n")
        return left


def move_cassettes(made: Path, folder: Path) -> None:
    """Have a folder hold these cassettes in the place of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    _delete_cassettes(folder)
    for path in made.iterdir():
        shutil.move(path, folder / path.name)


def _delete_cassettes(folder: Path) -> None:
    for old in folder.glob(f"*{_SUFFIX}"):
        old.unlink()


class Replay:
    """Gives the answers of the cassettes, to each test those that it got when it was recorded."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._lines: dict[str, dict[str, list[Taken]]] = {}
        self._left: dict[tuple[str, str], list[HttpAnswer]] = {}
        self._test = ""
        self._guard = threading.Lock()
        self.url = ""
        """The address at which the answers are given."""
        self.passed: set[str] = set()
        """The tests that passed, all of whose requests had answers."""
        self._missing: list[str] = []

    @property
    def seed(self) -> str:
        """Of the run that was recorded."""
        return str(json.loads((self._folder / MANIFEST).read_text())["seed"])

    def tests(self) -> list[str]:
        """The ids of the tests that the cassettes hold."""
        return [json.loads(line)["test"] for path in sorted(self._folder.glob(f"*{_SUFFIX}")) for line in _lines(path)]

    def begin(self, test: str) -> str:
        with self._guard:
            self._test = test
            self._left = defaultdict(list)
            for each in self._of(test):
                self._left[each.what, each.fingerprint].append(each.answer)
        return ""

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        what = headers.get("x-amz-target") or f"{method} {target}"
        scrubbed = Scrubber(gateway=self.url).scrub(body)
        with self._guard:
            answers = self._left.get((what, fingerprint(scrubbed)))
            if answers:
                return self._given(answers.pop(0))
            why = f"the cassette of {self._test or 'no test'} holds no further answer to this {what}"
            self._missing.append(why)
            return refusal(why)

    def end(self, test: str, passed: bool) -> str:
        """What the test asked and was not told; empty if nothing."""
        with self._guard:
            missing, self._missing = self._missing, []
            if passed and not missing:
                self.passed.add(test)
            return "; ".join(missing)

    def _given(self, answer: HttpAnswer) -> HttpAnswer:
        body = answer.body.replace(GATEWAY.encode(), self.url.encode())
        headers = dict(answer.headers)
        if "x-amz-crc32" in headers:
            headers["x-amz-crc32"] = str(crc32(body))
        return HttpAnswer(answer.status, headers, body)

    def _of(self, test: str) -> list[Taken]:
        name = cassette_name(test.partition("::")[0])
        if name not in self._lines:
            path = self._folder / name
            read = [json.loads(line) for line in _lines(path)] if path.exists() else []
            self._lines[name] = {each["test"]: [_read(taken) for taken in each["taken"]] for each in read}
        return self._lines[name].get(test, [])


def cassette_name(module: str) -> str:
    """`tests/engine/test_get.py` is in `engine-test_get.jsonl.xz`."""
    return module.removeprefix("tests/").removesuffix(".py").replace("/", "-") + _SUFFIX


def fingerprint(body: bytes) -> str:
    """The same for requests that mean the same: the order of members and of sets is left out."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError):  # no JSON: an object
        body = json.dumps(_ordered(msgspec.json.decode(body)), sort_keys=True).encode()
    return hashlib.sha256(body).hexdigest()[:16]


def text_of(path: Path) -> str:
    """All that a file of cassettes says, bodies in plain text."""
    if path.suffix != ".xz":
        return path.read_text(errors="replace")
    parts: list[str] = []
    for line in _lines(path):
        parts.append(line)
        parts += [_text(_read(taken).answer.body) for taken in json.loads(line)["taken"]]
    return "\n".join(parts)


def _lines(path: Path) -> Iterator[str]:
    return iter(lzma.decompress(path.read_bytes()).decode().splitlines())


def _saved(taken: Taken) -> list[Any]:
    answer = taken.answer
    try:
        body: Any = answer.body.decode()
    except UnicodeDecodeError:
        body = [b64encode(answer.body).decode()]
    return [taken.what, taken.fingerprint, answer.status, answer.headers, body]


def _read(saved: list[Any]) -> Taken:
    what, mark, status, headers, body = saved
    read = body.encode() if isinstance(body, str) else b64decode(body[0])
    return Taken(what, mark, HttpAnswer(status, headers, read))


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def _ordered(said: Any) -> Any:
    if isinstance(said, dict):
        members = cast("dict[str, Any]", said)
        return {name: _sorted(value) if name in _SETS else _ordered(value) for name, value in members.items()}
    return [_ordered(each) for each in cast("Iterable[Any]", said)] if isinstance(said, list) else said


def _sorted(said: Any) -> Any:
    return sorted(map(str, cast("Iterable[Any]", said))) if isinstance(said, list) else said
