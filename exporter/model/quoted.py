"""How a stranger's text is repeated in a complaint: quoted, on one line, cut. Pure."""

SHOWN_MAX = 60
"""Characters of a user's text repeated in a complaint; a whole pasted file would hide the point."""


def escaped(text: str) -> str:
    """The text with quotes, backslashes and whatever does not print as YAML (and C) escapes: safe within double quotes, on one line."""
    return "".join(_escape(character) for character in text)


def shown(text: str) -> str:
    """A user's text as it appears in a complaint: in double quotes, on one line, cut after SHOWN_MAX characters."""
    return f'"{escaped(text[:SHOWN_MAX])}{"…" if len(text) > SHOWN_MAX else ""}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
