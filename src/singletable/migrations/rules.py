"""Rules: what it means for stored items, and for programs of both versions, that a model is another than it was.

**The world is closed.** A record holds all that decides which bytes are stored (`model_document`). Two records are
walked as trees, and each path at which they differ is judged by the first line of `JUDGES` in `differences` that fits
it. A judge names a rule of `RULES`; where no line fits, or the judge knows no rule, the difference is `unknown`, and so
breaking: a fact that is new to the record is breaking until a rule says what its change means.

**Six kinds.** They say what a plan does about a difference, and what programs of the two versions see of each other.

    free        the old program and the new one read what either writes
    ordered     they don't, for one direction: the rule says which programs come first
    fill        items are rewritten where they lie
    move        items are rewritten under another key
    remove      something stays behind that nobody reads any more
    breaking    items may be unreadable, or would read otherwise: they are counted

**What programs see** of each other is a line of `MEETINGS` in `sights`, for each rule.

**What is counted.** A breaking difference is a suspicion. The table is read, and each item decides: it is loaded by the
new class and encoded again (`item_counts`), and what can't be loaded, or comes out otherwise, counts. Where none
does, the plan goes on. A difference that loading can't show says what to count instead: `lacking` the items without the
attribute, `holding` those with it, `all` of the type, `twice` the values that two items have, `converts` the items that
can't become those of other classes, `writes` the items of which the class makes no key, so that no fill writes them:
they are `unwritable`.

**The forms.** `values.plans` gives forms as JSON. A form is another where its tag or kind is, and then loading
decides. Members of an enum, and attributes of an object inside an item, are compared one by one (`form_changes`): more
members are ordered, an attribute that may be absent is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal["free", "ordered", "fill", "move", "remove", "breaking"]
Counts = Literal["", "reads", "writes", "lacking", "holding", "all", "twice", "converts"]


class Rule(Struct, frozen=True):
    """The judgement of one sort of difference."""

    kind: Kind
    means: str
    counts: Counts = ""


_READERS = "deploy programs that read it, then programs that write it"
RULES: Mapping[str, Rule] = {
    "unknown": Rule("breaking", "no rule says what this means", "reads"),
    "unreadable": Rule("breaking", "its class can't read them", "reads"),
    "unwritable": Rule("breaking", "its class reads them, and makes no key of them: a fill leaves them", "writes"),
    # --- attributes
    "attribute.added": Rule("free", "an item without it reads as its default"),
    "attribute.renamed": Rule("free", "it is stored under the same name"),
    "attribute.removed": Rule("breaking", "its stored value is not read, and put of a new object erases it", "holding"),
    "attribute.upcast": Rule("fill", "the upcasters, or downcasters, say what becomes of its value"),
    "attribute.required": Rule("breaking", "an item without it can't be read", "reads"),
    "attribute.optional": Rule("ordered", f"the old program can't read an item without it: {_READERS}"),
    "default.changed": Rule("breaking", "an item without it reads otherwise", "lacking"),
    "type.changed": Rule("breaking", "an item whose value is of the old type only can't be read", "reads"),
    "type.wider": Rule("ordered", f"the old program can't read each value of the new type: {_READERS}"),
    "enum.gained": Rule("ordered", f"the old program can't read a new member: {_READERS}"),
    "enum.lost": Rule("breaking", "an item with a member that is gone can't be read", "reads"),
    "enum.changed": Rule("breaking", "a stored value reads as another member", "holding"),
    "role.changed": Rule("ordered", "the old program doesn't do what the role says: end it before the new one writes"),
    "unique.added": Rule("fill", "each value gets a guard", "twice"),
    "guard.changed": Rule("fill", "each value gets a guard under its new text", "writes"),
    # --- classes
    "class.added": Rule("free", "no item has its type yet"),
    "class.removed": Rule("remove", "no class reads its items any more: they stay", "all"),
    "class.moves": Rule("move", "its items move to another table", "writes"),
    "class.converted": Rule("move", "its items become items of other classes", "converts"),
    "class.made": Rule("move", "items of another class become its items: until then it lacks them"),
    "class.kept": Rule("free", "its items are not converted any more"),
    "version.raised": Rule("fill", "the upcasters read older items; the old program can't read newer ones", "writes"),
    "version.both": Rule("fill", "items are stored in both forms, and both programs read and write them", "writes"),
    "key.changed": Rule("breaking", "an item lies under another key than its attributes make now", "reads"),
    "key.moves": Rule("move", "its items move to the key that they have now", "writes"),
    "key.declared": Rule("free", "its older key is declared, or is not needed any more"),
    "pattern.changed": Rule("fill", "index keys are rewritten", "writes"),
    "pattern.removed": Rule("fill", "index keys that no class makes any more are removed"),
    "beside.added": Rule("fill", "the parts in other items are written", "writes"),
    "beside.removed": Rule("remove", "the parts in other items stay"),
    "mirrors.changed": Rule(
        "fill",
        "edge sets are rewritten; until the fill has ended, neighbours are missing, or have other mirrored values",
        "writes",
    ),
    # --- the table
    "index.added": Rule("ordered", "apply it before a program queries it"),
    "index.changed": Rule("ordered", "it is made again: its patterns fail meanwhile"),
    "index.removed": Rule("remove", "its keys stay in the items, larger by them, until --purge takes them out"),
    "setting": Rule("free", "the table's own steps set it"),
    # --- layers
    "layer.added": Rule("ordered", "deploy the workers that know it, then the programs that write it"),
    "layer.left out": Rule("free", "this program didn't import it: the record keeps it"),
    "contents.raised": Rule("ordered", f"a program of the former version can't read the new contents: {_READERS}"),
    "layer.changed": Rule("breaking", "what is stored was written for another declaration", "all"),
}


class ModelDifference(Struct, frozen=True):
    """One difference of a declaration from what was declared before."""

    rule: str
    subject: str
    """A class, or `Class.attribute`, as a person names it."""
    what: str
    """The change, in words."""
    type: str = ""
    """The stored type of the items that it is about; empty for all."""
    attribute: str = ""
    """The stored name of the attribute that it is about; empty for the whole item."""
    texts: tuple[str, ...] = ()
    """The stored values of the attribute that it is about; none for all."""
    index: str = ""
    """The index that it is about; empty for none."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.what}; {self.means} ({self.rule})"

    @property
    def place(self) -> tuple[str, str]:
        """Its rule and its subject: one record has each once."""
        return self.rule, self.subject

    @property
    def names(self) -> tuple[str, str]:
        """The names that a person may use for its subject: by the class's name, or by the stored type."""
        _, dot, attribute = self.subject.partition(".")
        return self.subject, f"{self.type}{dot}{attribute}"

    @property
    def kind(self) -> Kind:
        """Its kind, by its rule."""
        return RULES[self.rule].kind

    @property
    def means(self) -> str:
        """The effect on items and programs."""
        return RULES[self.rule].means

    @property
    def counts(self) -> Counts:
        """The items that a reading of the table counts; empty for none."""
        return RULES[self.rule].counts
