"""After any sequence of writes on any path: the index keys are what the templates give, and nothing is a ghost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from singletable import (
    ANY,
    AlreadyExists,
    ConditionFailed,
    Entity,
    InvalidValue,
    Key,
    NotFound,
    Table,
    TransactionCancelled,
    Update,
    attr,
    key_of,
)
from tests.property.examples import times
from tests.support.engines import fresh
from tests.support.invariants import broken

deck = Table("deck", indexes=["gsi1", "gsi2", "gsi3"])


class Card(Entity, table=deck, type="card"):
    id: str
    board: str
    owner: str | None = None
    rank: int = 0
    state: str = "open"
    price: Decimal = Decimal(0)
    due: int | None = None
    note: str = ""

    @deck.key
    @staticmethod
    def of_board(board: str, id: str = ANY) -> Key:
        return f"board#{board}", f"card#{id}"

    @deck.index("gsi1")
    @staticmethod
    def by_owner(owner: str, rank: int = ANY, id: str = ANY) -> Key:
        """Sparse, with a number in it that updates add to."""
        return f"owner#{owner}", f"{rank:02}#{id}"

    @deck.index("gsi2")
    @staticmethod
    def by_state(state: str, price: Decimal = ANY) -> Key:
        """Always there."""
        return f"state#{state}", f"price#{price}"

    @deck.index("gsi3")
    @staticmethod
    def by_due(board: str, due: int = ANY, rank: int = ANY) -> Key:
        """Sparse by its sort key, and sharing an attribute with the first."""
        return f"due#{board}", f"{due}#{rank:02}"


names = st.sampled_from(["ada", "eve"])
cards = st.builds(
    Card,
    id=st.sampled_from(["1", "2", "3"]),
    board=st.just("b"),
    owner=st.none() | names,
    rank=st.integers(0, 99),
    state=st.sampled_from(["open", "done"]),
    price=st.sampled_from([Decimal(0), Decimal("1.5"), Decimal(-3)]),
    due=st.none() | st.integers(-5, 500),
    note=names,
)
ids = st.sampled_from(["1", "2", "3"])


@st.composite
def update_lists(draw: st.DrawFn) -> list[Update]:
    """Updates of different attributes."""
    choices: dict[str, list[Update]] = {
        "owner": [attr(Card.owner).set(draw(names)), attr(Card.owner).set(None), attr(Card.owner).remove()],
        "rank": [attr(Card.rank).add(draw(st.integers(-9, 9))), attr(Card.rank).set(draw(st.integers(0, 99)))],
        "state": [attr(Card.state).set(draw(names))],
        "price": [attr(Card.price).add(Decimal("0.5")), attr(Card.price).set(Decimal("7.25"))],
        "due": [attr(Card.due).set(None), attr(Card.due).set(draw(st.integers(-5, 500)))],
        "note": [attr(Card.note).set(draw(names))],
    }
    chosen = draw(st.lists(st.sampled_from(sorted(choices)), min_size=1, max_size=3, unique=True))
    return [draw(st.sampled_from(choices[name])) for name in chosen]


def after(card: Card, updates: list[Update]) -> Card:
    """What the updates make of a card, in Python."""
    values: dict[str, Any] = {}
    for update in updates:
        name = str(update.path).partition(".")[2]
        values[name] = getattr(card, name) + update.value if update.verb == "ADD" else update.value
    return replace(card, **values)


def fits(card: Card) -> bool:
    """Whether the card has a place in the indexes that it is in."""
    return 0 <= card.rank <= 99 or (card.owner is None and card.due is None)


class Writers(RuleBasedStateMachine):
    """Writers who know the cards as they once read them, all over one table."""

    seen = Bundle("seen")

    def __init__(self) -> None:
        super().__init__()
        self.db = fresh()
        self.cards: dict[str, Card] = {}

    def teardown(self) -> None:
        self.db.close()

    @initialize(target=seen, card=cards)
    def first(self, card: Card) -> Card:
        self.db.create(card)
        self.cards[card.id] = card
        return card

    @rule(target=seen, card=cards)
    def create(self, card: Card) -> Card:
        try:
            self.db.create(card)
            assert card.id not in self.cards
            self.cards[card.id] = card
        except AlreadyExists:
            assert card.id in self.cards
        return card

    @rule(card=seen, rank=st.integers(0, 99))
    def put_as_it_once_was(self, card: Card, rank: int) -> None:
        self.db.put(replace(card, rank=rank))
        self.cards[card.id] = replace(card, rank=rank)

    @rule(card=seen)
    def put_where_unchanged(self, card: Card) -> None:
        changed = replace(card, owner="ada", note="put")
        try:
            self.db.put(changed, where=(attr(Card.rank) == card.rank) & (attr(Card.owner) == card.owner))
            self.cards[card.id] = changed
        except ConditionFailed:
            assert self.cards.get(card.id) != card

    @rule(target=seen, id=ids, updates=update_lists(), exactly_once=st.booleans())
    def update(self, id: str, updates: list[Update], exactly_once: bool) -> Card:
        old = self.cards.get(id)
        try:
            new = self.db.update(Card.of_board("b", id), *updates, exactly_once=exactly_once)
        except NotFound:
            assert old is None
            return Card(id=id, board="b")
        except InvalidValue:
            assert old is not None
            assert not fits(after(old, updates))
            return old
        assert old is not None
        assert new == after(old, updates)
        self.cards[id] = new
        return new

    @rule(target=seen, card=cards, updates=update_lists())
    def upsert(self, card: Card, updates: list[Update]) -> Card:
        expected = after(self.cards.get(card.id, card), updates)
        try:
            new = self.db.upsert(card, *updates)
        except InvalidValue:
            assert not (fits(expected) and fits(after(card, updates)))
            return card
        assert new == expected
        self.cards[card.id] = new
        return new

    @rule(target=seen, card=cards)
    def upsert_whole(self, card: Card) -> Card:
        assert self.db.upsert(card) == card
        self.cards[card.id] = card
        return card

    @rule(id=ids)
    def delete(self, id: str) -> None:
        assert self.db.delete(Card.of_board("b", id)) == self.cards.pop(id, None)

    @rule(puts=st.lists(cards, max_size=2, unique_by=lambda c: c.id), id=ids)
    def write_many(self, puts: list[Card], id: str) -> None:
        deletes = [] if any(card.id == id for card in puts) else [Card.of_board("b", id)]
        self.db.write_many(puts=puts, deletes=deletes)
        for key in deletes:
            self.cards.pop(id, None)
            assert key.is_one_key
        self.cards |= {card.id: card for card in puts}

    @rule(id=ids, updates=update_lists(), card=cards, verb=st.sampled_from(["put", "create", "upsert", "delete"]))
    def transaction(self, id: str, updates: list[Update], card: Card, verb: str) -> None:
        if card.id == id:
            return
        old = self.cards.get(id)
        try:
            with self.db.transaction() as tx:
                tx.update(Card.of_board("b", id), *updates)
                if verb == "delete":
                    tx.delete(key_of(card))
                else:
                    getattr(tx, verb)(card)
        except TransactionCancelled:
            assert old is None or (verb == "create" and card.id in self.cards)
        except InvalidValue:
            assert old is None or not fits(after(old, updates))
        else:
            assert old is not None
            self.cards[id] = after(old, updates)
            self.cards.pop(card.id, None)
            if verb != "delete":
                self.cards[card.id] = card

    @invariant()
    def keys_equal_their_templates(self) -> None:
        assert self.db.run(broken(self.db.port, deck)) == []

    @invariant()
    def items_are_what_was_written(self) -> None:
        expected = [self.cards[id] for id in sorted(self.cards)]
        assert self.db.all(Card.of_board("b")) == expected
        owned = sorted((c for c in expected if c.owner == "ada"), key=lambda c: (c.rank, c.id))
        assert self.db.all(Card.by_owner("ada")) == owned


TestWriters = Writers.TestCase
TestWriters.settings = settings(times(0.4), stateful_step_count=25)
