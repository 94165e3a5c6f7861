"""Failures of an application's own functions: handlers, tasks, mutations. Whose they are, and how they are stored.

Whoever calls such a function has to go on after anything that it raises, or one bad change, task or mutation stops all
the others. Only what ends the process itself passes through.
"""

from __future__ import annotations

import signal
import threading  # noqa: TID251 which thread an error came in says whose it is

MOST_TEXT_CHARACTERS = 500
_CUT = "..."


def is_of_function(error: BaseException) -> bool:
    """Whether an application's function failed by itself; False for the end of the process or of the running flow.

    KeyboardInterrupt and cancellation are never the function's. SystemExit is, unless the handler of a signal raised
    it, which the main thread alone runs, in the middle of whatever it does.
    """
    if isinstance(error, SystemExit):
        return threading.current_thread() is not threading.main_thread() or not _is_of_signal(error)
    return isinstance(error, Exception)


def _is_of_signal(error: BaseException) -> bool:
    """Whether the handler of a signal is among the calls that the error came through."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers if (code := _code_of(handler)) is not None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: object) -> object:
    """Of a function, a bound method, a partial one, or an object that can be called."""
    function = getattr(handler, "func", handler)
    if not hasattr(function, "__code__"):
        function = getattr(function, "__call__", None)  # noqa: B004 its code is looked at
    return getattr(getattr(function, "__func__", function), "__code__", None)


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
