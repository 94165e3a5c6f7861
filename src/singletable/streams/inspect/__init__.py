"""Reads of consumers' declarations and items, for tools that show them.

Each function that reads is a flow over a port; its docstring says what it costs. `consumers` has their shards, leases
and lag, `letters` the changes that their handlers failed at too often.
"""

from singletable.streams.changes import changes_of
from singletable.streams.consumer import Start
from singletable.streams.inspect.consumers import (
    ConsumerName,
    ConsumerSeen,
    changes_named,
    consumer_seen,
    consumers_of,
    state_at,
)
from singletable.streams.inspect.letters import LetterSeen, LettersSeen, letter_seen, letters_seen, read_letter
from singletable.streams.record_tail import TailedGap
from singletable.streams.router import Handler
from singletable.streams.tail import Tail, TailedChange

__all__ = [
    "ConsumerName",
    "ConsumerSeen",
    "Handler",
    "LetterSeen",
    "LettersSeen",
    "Start",
    "Tail",
    "TailedChange",
    "TailedGap",
    "changes_named",
    "changes_of",
    "consumer_seen",
    "consumers_of",
    "letter_seen",
    "letters_seen",
    "read_letter",
    "state_at",
]
