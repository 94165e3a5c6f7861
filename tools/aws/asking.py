"""The question before something is done that costs, or can't be undone."""

from __future__ import annotations

from collections.abc import Callable


def agrees(ask: Callable[[str], str], question: str, undone: str) -> bool:
    """Whether the answer is yes; says what is `undone` where it is not, or there is nobody to ask."""
    try:
        answer = ask(f"{question} [y/N] ")
    except EOFError:
        print(f"\nThere is nobody to ask: --yes goes on without. {undone}")
        return False
    if answer.strip().lower() in ("y", "yes"):
        return True
    print(undone)
    return False
