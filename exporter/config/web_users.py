"""`basic_auth_users` of a web configuration file: names and bcrypt hashes. A hash is looked at, never shown."""

import importlib.util
import re
from collections.abc import Mapping

from exporter.config.web_nodes import Section
from exporter.model.quoted import shown

COST_MIN, COST_MAX = 4, 18
"""bcrypt's least; and 18 takes a quarter of a minute, one more step half a minute: nobody waits for 20."""

_HASH = re.compile(r"\$2[abxy]\$([0-9]{2})\$[./A-Za-z0-9]{53}")


def read_users(section: Section) -> Mapping[str, str]:
    """Hash by name. Mistakes, one of them that the package bcrypt is missing, go to the section's list."""
    if not section.nodes:
        return {}
    found = {name: section.text(name) for name in section.nodes}
    for name, text in found.items():
        problem = _problem(name, text)
        if problem:
            section.complain(name, problem)
    if importlib.util.find_spec("bcrypt") is None:
        section.complain("", "passwords need the package bcrypt: pip install 'fabric-exporter[auth]'")
    return found


def _problem(name: str, text: str) -> str:
    """What is wrong with a user; "" if nothing is."""
    if ":" in name:
        return "a user's name cannot hold a colon: HTTP has it end the name"
    if not name.isprintable():
        return "a user's name cannot hold control characters"
    match = _HASH.fullmatch(text)
    if match is None:
        return "expected a bcrypt hash such as htpasswd -nBC 10 makes ($2y$10$ and 53 more characters); what stands there is none"
    if not COST_MIN <= int(match[1]) <= COST_MAX:
        return f"a bcrypt hash of cost {shown(match[1])} is refused: expected {COST_MIN:02} to {COST_MAX}; 10 to 12 is customary"
    return ""
