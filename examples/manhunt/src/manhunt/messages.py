"""What a search says to the people it looks for: a template and the metadata it was opened with."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from manhunt.errors import Invalid

DEFAULT_MESSAGE = "You are needed: $summary"
MAX_TEXT = 2000
MAX_METADATA = 50


def check_message(template: str, metadata: Mapping[str, str]) -> None:
    """Refused where the template can't be filled, so that no worker finds out."""
    if len(metadata) > MAX_METADATA or any(len(text) > MAX_TEXT for pair in metadata.items() for text in pair):
        raise Invalid(f"metadata are at most {MAX_METADATA} texts of up to {MAX_TEXT} characters")
    if not 0 < len(template) <= MAX_TEXT:
        raise Invalid(f"a message has 1 to {MAX_TEXT} characters")
    asked = Template(template)
    if not asked.is_valid():
        raise Invalid("a $ in the message that begins no name: write $$ for a dollar sign")
    missing = sorted(set(asked.get_identifiers()) - metadata.keys())
    if missing:
        raise Invalid(f"the message needs the metadata {', '.join(missing)}")


def text_of(template: str, metadata: Mapping[str, str]) -> str:
    return Template(template).substitute(metadata)
