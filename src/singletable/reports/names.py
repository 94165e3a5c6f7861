"""Names and texts as SQL takes them, whatever they hold."""


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it is."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL takes it."""
    return "'" + value.replace("'", "''") + "'"
