"""What an importer does with a value that it does not know: a stage, a permission, a field's name.

unknown = Unknown("report")
if unknown.keeps(place, f"the stage {shown(stage)}"): ...     # False: it is left out, and told at the end
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import click

from examples_shared.textfile import Place

Choice = Literal["refuse", "report", "keep"]
CHOICES: Final = ("refuse", "report", "keep")
_TOLD: Final = 20


def unknown_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option of an importer."""
    said = "A value that this program does not know: refuse the file, leave the value out and report it, or keep it."
    return click.option("--unknown", type=click.Choice(CHOICES), default="refuse", show_default=True, help=said)(
        function
    )


@dataclass
class Unknown:
    """One import's choice, and what it met."""

    choice: Choice = "refuse"
    met: list[str] = field(default_factory=list[str])

    def keeps(self, place: Place, said: str) -> bool:
        """Whether a value is kept as it is, or left out. Invalid where it is refused."""
        if self.choice == "refuse":
            raise place.refuses(f"{said}. --unknown report leaves it out, --unknown keep takes it as it is")
        self.met.append(f"{place.source}:{place.line}: {said}")
        return self.choice == "keep"

    def tell(self) -> None:
        """Print the first of what was met."""
        if self.met:
            done = "kept" if self.choice == "keep" else "left out"
            click.echo(f"{len(self.met)} unknown values {done}" if len(self.met) > 1 else f"1 unknown value {done}")
        for said in self.met[:_TOLD]:
            click.echo(f"  {said}")
