"""`--sample` and `--segments`: which part of a table is read, and how, the same for each command that has them."""

from __future__ import annotations

from typing import Any

import click

from singletable.records import MOST_SEGMENTS


class SampleShare(click.ParamType):  # type: ignore[type-arg]  # not generic in every release of click
    """A part of the whole: `1%`, or `0.01`."""

    name = "part"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value)
        try:
            part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            part = 0.0
        if not 0 < part < 1:
            self.fail(f"{text} is not a part of a table: say 1%, or 0.01", param, ctx)
        return part


sample_option = click.option(
    "--sample", type=SampleShare(), metavar="PART", help="Read this part of each table only, as 1% or 0.01."
)
segments_option = click.option(
    "--segments", type=click.IntRange(1, MOST_SEGMENTS), help="Parts at once: 4, or 1 off AWS."
)
