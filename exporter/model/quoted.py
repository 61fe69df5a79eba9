"""How a stranger's text is shown: as a label value, or in a complaint (quoted, on one line, cut). Pure."""

SHOWN_MAX = 60
"""Characters of a user's text repeated in a complaint; a whole pasted file would hide the point."""


def printable(text: str) -> str:
    """The text as legal UTF-8: a lone surrogate, which is how Python reads a stray byte of a file name, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


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
