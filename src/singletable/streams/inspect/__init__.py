"""Reads of consumers' declarations and items, for tools that show them.

Each function that reads is a flow over a port; its docstring says what it costs. `consumers` has their shards, leases
and lag, `letters` the changes that their handlers failed at too often.
"""

from singletable.streams.changes import changes_of
from singletable.streams.consumer import Start
from singletable.streams.inspect.consumers import (
    ConsumerInfo,
    ConsumerName,
    changes_named,
    consumers_of,
    inspect_consumer,
    state_at,
)
from singletable.streams.inspect.letters import LetterInfo, LettersInfo, inspect_letter, inspect_letters, read_letter
from singletable.streams.record_tail import TailedGap
from singletable.streams.router import Handler
from singletable.streams.tail import Tail, TailedChange

__all__ = [
    "ConsumerInfo",
    "ConsumerName",
    "Handler",
    "LetterInfo",
    "LettersInfo",
    "Start",
    "Tail",
    "TailedChange",
    "TailedGap",
    "changes_named",
    "changes_of",
    "consumers_of",
    "inspect_consumer",
    "inspect_letter",
    "inspect_letters",
    "read_letter",
    "state_at",
]
