"""Nothing of the environment shows in what the library says of itself: help, signatures, the reprs of defaults."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from singletable.target import Options

_PROGRAM = """
import importlib, inspect, json, pkgutil, pydoc
import singletable

shown, callables = {}, 0
for found in pkgutil.walk_packages(singletable.__path__, "singletable."):
    if found.name.endswith("__main__"):
        continue
    module = importlib.import_module(found.name)
    shown[found.name] = pydoc.plain(pydoc.render_doc(module))
    for holder in [module, *(each for each in vars(module).values() if inspect.isclass(each))]:
        for name, value in vars(holder).items():
            function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
            if inspect.isfunction(function) and function.__module__.startswith("singletable"):
                callables += 1
                defaults = [function.__defaults__, function.__kwdefaults__]
                shown[f"{function.__module__}.{function.__qualname__}"] = repr(defaults) + (function.__doc__ or "")
shown["connect"] = pydoc.plain(pydoc.render_doc(singletable.connect))
shown["connect_async"] = pydoc.plain(pydoc.render_doc(singletable.connect_async))
print(json.dumps({"callables": callables, "telling": [name for name, text in shown.items() if "canary-" in text]}))
"""


def test_no_help_signature_or_default_shows_the_environment() -> None:
    planted = {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "AWS_SECRET_ACCESS_KEY": "canary-secret",
        "SOME_PASSWORD": "canary-password",
    }
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=os.environ | planted, capture_output=True, text=True, timeout=100
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["callables"] > 1000, told["callables"]
    assert told["telling"] == []


def test_the_options_of_a_database_do_not_show_its_cursor_keys() -> None:
    assert "canary" not in repr(Options(cursor_keys=["canary-key"]))
