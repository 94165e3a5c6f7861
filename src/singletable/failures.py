"""Failures of an application's own functions: handlers, tasks, mutations. Whose they are, and how they are stored.

Whoever calls such a function has to go on after anything that it raises, or one bad change, task or mutation stops all
the others. Only what ends the process itself passes through.
"""

from __future__ import annotations

import threading  # noqa: TID251 which thread an error came in says whose it is

MOST_TEXT_CHARACTERS = 500
_CUT = "..."


def is_of_function(error: BaseException) -> bool:
    """Whether an application's function failed by itself; False for the end of the process or of the running flow.

    KeyboardInterrupt and cancellation are never the function's. SystemExit is the function's in every thread but the
    main one, which alone runs the handlers of signals: there it may come from one that ends the process.
    """
    if isinstance(error, SystemExit):
        return threading.current_thread() is not threading.main_thread()
    return isinstance(error, Exception)


def error_text(error: BaseException, *, name: str = "", most: int = MOST_TEXT_CHARACTERS) -> str:
    """Any error as a text that can be stored: its type, or `name`, and its message, cut to `most` characters.

    It raises nothing, whatever the error's `__str__` does, and holds no lone surrogate: those are written `\\udXXX`.
    """
    text = "".join((name or type(error).__name__, ": ", _message_of(error, most)))
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def _message_of(error: BaseException, most: int) -> str:
    try:
        return str(error)[: most + 1]
    except KeyboardInterrupt:
        raise
    except BaseException as another:
        return f"its message can't be told, for {type(another).__name__}"
