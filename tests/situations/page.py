"""The page "What you see when", made of what the situations print: `python -m tests.situations.page` writes it.

`--outputs FOLDER` writes the bare outputs too, in an order of their own, and which is which into `key.txt` beside it.
"""

from __future__ import annotations

import argparse
import random
import re
import secrets
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from singletable import Database
from tests.docs.pages import DOCS
from tests.situations import programs as programs, requests as requests, workers as workers
from tests.situations.program import Program, running
from tests.situations.shop import make_shop
from tests.situations.situation import SITUATIONS, Situation
from tests.support.engines import end_engines, fresh

PAGE = DOCS / "how-to" / "what-you-see.md"
_HEAD = """# What you see when

What a program prints in {number} situations, with its log at INFO, and what to do. Each output is that of a test, which
runs the program in the situation; lines are folded, and what a line repeats of one before it is left out (`...`).
`python -m tests.situations.page` writes this page. [Watch a program](watch.md) says how to read the log, and
[Operate workers](operate-workers.md) what `singletable work` shows beside it.

"""
_WIDTH = 100
_SAID = re.compile(r"The service answered \w+: .*?(?= \(\d+ tr|; next try|; this machine|$)")


EVERY = sorted(SITUATIONS, key=lambda each: (requests, workers, programs).index(sys.modules[each.work.__module__]))
"""In the order of the page."""


def seen_in(situation: Situation, engine: Database) -> Program:
    """Run a situation on an empty engine; returns the program that it happened to."""
    engine.create_table(make_shop().table)
    with running(engine) as program:
        program.run(situation.work(program))
    return program


def section(situation: Situation, lines: list[str]) -> str:
    """A situation's part of the page."""
    output = "\n".join(_folded(_shortened(lines)))
    return f"## {situation.title}\n\n```text\n{output}\n```\n\n{situation.cause}\n\n**What to do.** {situation.todo}\n"


def page(sections: list[str]) -> str:
    return _HEAD.format(number=len(sections)) + "\n".join(sections)


def _shortened(lines: list[str]) -> Iterator[str]:
    """The service's own words once."""
    said: set[str] = set()
    for line in lines:
        answer = _SAID.search(line)
        if answer is not None and answer[0] in said:
            line = line.replace(answer[0], f"{answer[0].partition(':')[0]}: ...")
        elif answer is not None:
            said.add(answer[0])
        yield line


def _folded(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield from (
            textwrap.wrap(
                line,
                _WIDTH,
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
                drop_whitespace=True,
            )
            if line.strip() == line
            else [line]
        )


def _write_outputs(folder: Path, outputs: dict[str, list[str]]) -> None:
    titles = list(outputs)
    random.Random(secrets.token_bytes(8)).shuffle(titles)
    folder.mkdir(parents=True, exist_ok=True)
    for number, title in enumerate(titles, 1):
        (folder / f"{number:02}.txt").write_text("\n".join(outputs[title]) + "\n", encoding="utf-8")
    key = "".join(f"{number:02}\t{title}\n" for number, title in enumerate(titles, 1))
    (folder.parent / "key.txt").write_text(key, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=Path)
    folder: Path | None = parser.parse_args().outputs
    outputs: dict[str, list[str]] = {}
    for situation in EVERY:
        with fresh() as db:
            outputs[situation.title] = seen_in(situation, db).lines
    PAGE.write_text(page([section(each, outputs[each.title]) for each in EVERY]), encoding="utf-8")
    if folder is not None:
        _write_outputs(folder, outputs)
    end_engines()


if __name__ == "__main__":
    main()
