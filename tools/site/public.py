"""What is public: the names of the packages that applications import, and the page that each is described on."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
API = ROOT / "docs" / "reference" / "api"
ERRORS = ROOT / "docs" / "reference" / "errors.md"
PACKAGES = (
    "singletable",
    "singletable.records",
    "singletable.graph",
    "singletable.documents",
    "singletable.streams",
    "singletable.tasks",
    "singletable.queues",
    "singletable.raw",
    "singletable.sync",
    "singletable.migrations",
    "singletable.jobs",
    "singletable.erasure",
    "singletable.release",
    "singletable.exchange",
    "singletable.reports",
    "singletable_deploy",
    "singletable.studio",
    "singletable.otel",
    "singletable.errors",
)
"""All that they pass on, as `X as X`, is for applications."""
GROUND = {
    "singletable.wire": (
        *("Credentials", "CredentialSource", "FetchedCredentials", "StaticCredentials"),
        *("Connections", "RetryPolicy", "Timeouts"),
    ),
    "singletable.events": (
        *(
            "Event",
            "Listener",
            "BlobCalled",
            "CredentialsFetched",
            "FirstAnswered",
            "RequestEnded",
            "RequestTried",
            "TableMissing",
            "WaitBegun",
            "WorkOverran",
        ),
        *("Carrier", "Handled", "Sent", "TraceContext"),
        *("WorkerPaused", "WorkerStarted", "WorkerStopped", "LeaseLost", "LeaseTaken", "TaskBegun", "TaskEnded"),
        *("ChangeRetried", "LetterAdded", "ShardGap", "ShardOpened", "StepApplied"),
        *("Problem", "ClockCorrected", "CredentialsKept", "IndexUnfilled", "GuardKept", "MessageFailed"),
        "MessageDropped",
        *(
            "ChangeReturned",
            "ChangesPassedOver",
            "TableHeld",
            "ContentsLeftOut",
            "MutationsWaiting",
            "MutationsDropped",
        ),
        *(
            "MutationStuck",
            "MutationRejected",
            "AnswerRefused",
            "ClientResetNeeded",
            "PageRefused",
            "PageFailed",
            "ItemWritten",
        ),
    ),
    "singletable.flow": ("Capability", "OperationCount", "Port", "Rate", "TableNames", "Traits", "drive", "unmetered"),
    "singletable.tables": (
        *("B", "Billing", "Description", "Difference", "Local", "N", "Provisioned", "StreamView", "TableClass"),
        "TableSettings",
    ),
    "singletable.expressions": ("Attribute", "Handle", "Size"),
    "singletable_local": ("Engine",),
    "singletable.schema": ("Every", "ReadOf", "Whole"),
    "singletable.values": (
        *("AttributeValue", "EpochMilliseconds", "EpochSeconds", "IsoMilliseconds", "PynamoIso", "PythonIso"),
        *("ReadsAlso", "StoredAs"),
        *("Tagged", "TrueText", "ZeroOne", "item_size", "json_text"),
    ),
    "singletable.cli": ("Session", "module_of", "options_anywhere", "pattern_of", "session_of", "tables_of"),
    "singletable.layers": ("TableLayer", "ToolSettings"),
    "singletable.foundation": ("ItemCheck", "LayerChecks", "ToolItem", "ToolKey", "place_in", "type_in"),
    "singletable.operations": ("Item",),
    "singletable.pytest_plugin": ("budget", "Budget", "BudgetExceeded", "UnitsDiffer"),
}
"""Of the packages below, what applications meet; the rest of them is the library's own."""
_HEADING = re.compile(r"^(#{2,4}) ((?:`[\w.]+`(?: · )?)+|\w+ · `[\w.-]+`)$")
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def names_of(package: str) -> tuple[str, ...]:
    """The names that are described on a package's page: not the modules that it exports for its siblings, nor what is
    an error or another package's."""
    if package in GROUND:
        return GROUND[package]
    module = import_module(package)
    if package == "singletable.errors":
        return tuple(name for name, value in vars(module).items() if _is_error(value))
    elsewhere = {getattr(import_module(each), name, None) for each in _before(package) for name in names_of(each)}
    own = (name for name in passed_on(package) if not isinstance(getattr(module, name), ModuleType))
    return tuple(name for name in own if not _is_in(getattr(module, name), elsewhere))


@cache
def passed_on(package: str) -> tuple[str, ...]:
    """The names that a package imports for others, as type checkers read it: constants, classes, functions."""
    tree = ast.parse(Path(import_module(package).__file__ or "").read_text(encoding="utf-8"))
    imports = (name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names)
    names = {name.name for name in imports if name.asname == name.name}
    return tuple(sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name)))


def _before(package: str) -> Iterator[str]:
    yield "singletable.errors"
    yield from PACKAGES[: PACKAGES.index(package)]


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _is_in(value: object, values: Collection[object]) -> bool:
    return (isinstance(value, type) or callable(value)) and value in values


def all_packages() -> tuple[str, ...]:
    return (*PACKAGES, *GROUND)


def page_of(package: str) -> Path:
    """Where its names are described. The packages below share a page; errors have one of their own."""
    if package == "singletable.errors":
        return ERRORS
    return API / f"{'ground' if package in GROUND else re.sub(r'^singletable[._]', '', package)}.md"


def packages_on(page: Path) -> tuple[str, ...]:
    return tuple(package for package in all_packages() if page_of(package) == page)


def names_in(heading: str) -> tuple[int, tuple[str, ...]] | None:
    """The level of a heading that names public things, and the names; None for any other line."""
    found = _HEADING.match(heading)
    if found is None:
        return None
    text = found[2]
    names = re.findall(r"`([\w.]+)`", text) if text.startswith("`") else [text.split(" ")[0]]
    return len(found[1]), tuple(names)


def sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The names of each heading, and the text below it, down to the next heading that is not below it."""
    lines = text.splitlines()
    heads = [(number, named) for number, line in enumerate(lines) if (named := names_in(line))]
    for number, (level, names) in heads:
        end = next((n for n, (below, _) in heads if n > number and below <= level), len(lines))
        yield names, "\n".join(lines[number + 1 : end])


def examples(text: str) -> str:
    """The Python of a text."""
    return "\n".join(_PYTHON.findall(text + "\n"))
