"""Failures of an application's own functions: handlers, tasks, mutations. Recognising them, and their stored text.

The caller of such a function must go on after any error, or one bad change, task or mutation would stop all the others.
Only what ends the process itself is raised further.
"""

from __future__ import annotations

import signal
import threading  # noqa: TID251 only the main thread runs the handlers of signals

MOST_TEXT_CHARACTERS = 500
_CUT = "..."


def is_of_function(error: BaseException) -> bool:
    """Whether the error is a failure of the application's function; False for the end of the process or of the flow.

    KeyboardInterrupt and cancellation are not. SystemExit is, unless the handler of a signal raised it: the main thread
    runs handlers at any point of its code.
    """
    if isinstance(error, SystemExit):
        return threading.current_thread() is not threading.main_thread() or not _is_of_signal(error)
    return isinstance(error, Exception)


class Caught:
    """The failure of an application's function as a value: `with Caught() as caught: ...`, then `caught.error`."""

    error: BaseException | None = None

    def __enter__(self) -> Caught:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.error = error
        return error is not None and is_of_function(error)


def _is_of_signal(error: BaseException) -> bool:
    """Whether the error's traceback contains the handler of a signal."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers if (code := _code_of(handler)) is not None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: object) -> object:
    """The code of a function, a bound method, a partial, or a callable object."""
    function = getattr(handler, "func", handler)
    if not hasattr(function, "__code__"):
        function = getattr(function, "__call__", None)  # noqa: B004 its code is looked at
    return getattr(getattr(function, "__func__", function), "__code__", None)


def error_text(error: BaseException, *, name: str = "", most: int = MOST_TEXT_CHARACTERS) -> str:
    """Any error as a text that can be stored: its type, or `name`, and its message, cut to `most` characters.

    It never raises, whatever the error's `__str__` does. Lone surrogates are written `\\udXXX`.
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
        return f"its message can't be shown: it raised {type(another).__name__}"
