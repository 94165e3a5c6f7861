"""One process of the storm, until SIGTERM or a kill: `tests.storm.child ROLE CLIENT TARGET FOLDER SEED NUMBER`."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Protocol

from tests.storm.boards import Boards
from tests.storm.effects import ChangesWorker, TasksWorker
from tests.storm.journal import say
from tests.storm.ledger import Ledger
from tests.storm.life import Life, explain
from tests.storm.network import Network
from tests.storm.papers import Papers


class Stepping(Protocol):
    def step(self) -> None: ...
    def close(self) -> None: ...


STEPPING: dict[str, Callable[[Life], Stepping]] = {
    "ledger": Ledger,
    "network": Network,
    "papers": Papers,
    "boards": Boards,
}
WORKERS: dict[str, Callable[[Life], Any]] = {"changes": ChangesWorker, "tasks": TasksWorker}
OUT_OF_RESOURCES = 75
OUT_OF = (errno.ENOMEM, errno.ENFILE, errno.EMFILE, errno.EFBIG, errno.ENOSPC)
NO_THREAD = "can't start new thread"


def live(role: str, life: Life) -> None:
    """Step, or work, until told to end."""
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    if role in WORKERS:
        worker = WORKERS[role](life)
        life.limit()

        def stop() -> bool:
            life.after_step()
            return bool(told)

        worker.run(stop)
        worker.db.close()
        return
    stepping = STEPPING[role](life)
    life.limit()
    life.after_step()
    while not told:
        stepping.step()
        life.after_step()
    stepping.close()


def main(role: str, client: str, target: str, folder: str, seed: str, number: str) -> int:
    try:
        live(role, Life(client, target, folder, int(seed), int(number)))
    except BaseException as error:
        if is_out_of_resources(error):
            os._exit(
                OUT_OF_RESOURCES
            )  # a process without memory or descriptors dies; what it began is of unknown outcome
        say(say="broken", error=f"{role} {client}: {explain(error)}")
        return 1
    return 0


def is_out_of_resources(error: BaseException | None) -> bool:
    """Whether a limit of this life is what ended it."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) in OUT_OF or NO_THREAD in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
