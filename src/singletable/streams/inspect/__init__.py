"""Reads of consumers' declarations and items, for tools that show them.

Each function that reads is a flow over a port; its docstring says what it costs. `consumers` has their shards, leases
and lag, `letters` the changes that their handlers failed at too often.
"""

from singletable.streams.changes import changes_of as changes_of
from singletable.streams.consumer import Start as Start
from singletable.streams.inspect.consumers import (
    ConsumerInfo as ConsumerInfo,
    ConsumerName as ConsumerName,
    changes_named as changes_named,
    consumers_of as consumers_of,
    inspect_consumer as inspect_consumer,
    state_at as state_at,
)
from singletable.streams.inspect.letters import (
    LetterInfo as LetterInfo,
    LettersInfo as LettersInfo,
    inspect_letter as inspect_letter,
    inspect_letters as inspect_letters,
    read_letter as read_letter,
)
from singletable.streams.router import Handler as Handler
from singletable.streams.tail import Tail as Tail, TailedChange as TailedChange, TailedGap as TailedGap
