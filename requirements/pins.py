"""Writes the hashes of the pinned packages anew: `make pins`. Versions stay as they are.

    make pins                                                the hashes of every file that the index has of a version
    make pins UPGRADE=1                                      the newest versions of what is asked for, and their hashes
    .venv-tools/bin/python -m requirements.pins dev --upgrade       of one list

To move one package, edit its version and run it without --upgrade: what that needs besides is added, and told.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PROJECT = ROOT / "pyproject.toml"
BESIDE = [*sorted(ROOT.glob("packages/*/pyproject.toml")), *sorted(ROOT.glob("examples/*/pyproject.toml"))]
OWN = {
    "emulators": ["ministack", "moto[dynamodb,sqs,s3]", "flask", "flask-cors"],
    "demo": [
        *("httptools", "msgspec", "click", "rich", "pynacl", "starlette", "jinja2", "uvicorn", "fastapi"),
        *("itsdangerous", "pyyaml", "hatchling", "editables"),
    ],
    "newer_peers": ["aws-sdk-dynamodb", "dynamoxy"],
    "peers": ["awswrangler", "boto3", "dynamodump", "orjson"],
    "tools": ["pip-audit", "pip-tools", "cfn-lint", "aws-cdk-lib", "cyclonedx-bom", "twine"],
}
"""What the other lists are for; that of development is in pyproject.toml."""
OLDEST_PYTHON = {"newer_peers": (3, 12)}
"""Lists of packages that an older Python can't install: pip-compile knows its own Python's packages only."""
BUILT_HERE = "singletable"
"""How the names begin that are not pinned: they are built here, and development has the engine from npm."""
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(\[[^]]*\])?==([^\s;\\]+)( ; [^\\\n]*[^\\\n ])?", re.MULTILINE)
_OPTIONS = [
    *("--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header", "--no-annotate"),
    *("--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host"),
]

Compile = Callable[[str], str]
"""A list of requirements to the same with versions and hashes of all."""


def pins_of(text: str) -> dict[str, str]:
    """Each pinned package's version, under the name that all spellings share."""
    return {_one_name(name): version for name, _, version, _ in _PIN.findall(text)}


def markers_of(text: str) -> dict[str, str]:
    """What a pin says of the environments that it is for, where it is not for all: ` ; python_version < "3.14"`."""
    return {_one_name(name): marker for name, _, _, marker in _PIN.findall(text)}


def _one_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def header_of(text: str) -> str:
    """The comment at the top."""
    lines = text.splitlines(keepends=True)
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[:end])


def renewed(text: str, compile: Compile) -> tuple[str, list[str]]:
    """A list with its hashes anew, and what had to be added; ValueError where a version would not stay."""
    before, markers = pins_of(text), markers_of(text)
    body = compile("".join(f"{name}=={version}{markers[name]}\n" for name, version in before.items()))
    after = pins_of(body)
    if moved := [name for name, version in before.items() if after.get(name) != version]:
        raise ValueError(f"the version of {', '.join(moved)} would not stay")
    return header_of(text) + body, [f"{name}=={after[name]}" for name in after.keys() - before.keys()]


def upgraded(text: str, asked: Sequence[str], compile: Compile) -> tuple[str, list[str]]:
    """A list with the newest versions of what is asked for, and what changed."""
    before, body = pins_of(text), compile("".join(f"{each}\n" for each in asked))
    after = pins_of(body)
    changes = (f"{n} {before.get(n, '-')} -> {after.get(n, '-')}" for n in sorted({*before, *after}))
    return header_of(text) + body, [line for line in changes if len(set(line.split(" ")[1::2])) > 1]


def asked_for(name: str) -> list[str]:
    """What a list is made from."""
    if name in OWN:
        return OWN[name]
    projects = [tomllib.loads(path.read_text()) for path in (PROJECT, *BESIDE)]
    needed = [project["project"].get("dependencies", []) for project in projects]
    extras = [*projects[0]["project"]["optional-dependencies"].values(), *projects[0]["dependency-groups"].values()]
    asked = dict.fromkeys(each for group in [*needed, *extras] for each in group)
    return [each for each in asked if not each.startswith(BUILT_HERE)]


def compile(requirements: str) -> str:
    """By pip-compile, in the environment of this Python."""
    with tempfile.TemporaryDirectory() as folder:
        asked, made = Path(folder, "asked.in"), Path(folder, "made.txt")
        asked.write_text(requirements)
        command = [sys.executable, "-m", "piptools", "compile", *_OPTIONS, "--output-file", str(made), str(asked)]
        subprocess.run(command, check=True, cwd=folder)
        return "".join(line for line in made.read_text().splitlines(keepends=True) if re.match(r"[^#\s]|    --", line))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m requirements.pins", description=__doc__.splitlines()[0])
    names = ["dev", *OWN]
    parser.add_argument("names", nargs="*", metavar="LIST", help=f"of {', '.join(names)}; all without")
    parser.add_argument("--upgrade", action="store_true", help="the newest versions")
    chosen = parser.parse_args()
    for name in chosen.names or names:
        path = HERE / f"{name}.txt"
        if sys.version_info < OLDEST_PYTHON.get(name, ()):
            needed = ".".join(map(str, OLDEST_PYTHON[name]))
            print(f"{path.name} stays as it is, it needs Python {needed}: make clean; make pins PYTHON=python{needed}")
            continue
        text = path.read_text()
        try:
            new, notes = upgraded(text, asked_for(name), compile) if chosen.upgrade else renewed(text, compile)
        except ValueError as error:
            print(f"{path.name}: {error}; nothing was written", file=sys.stderr)
            return 1
        if new != text:
            path.write_text(new)
        print(f"{path.name}: {len(pins_of(new))} packages", *notes, sep="\n    ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
