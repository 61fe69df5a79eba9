"""How log lines look: logfmt for people and Loki, JSON for pipelines. One line an event, on stderr."""

import json
import logging
import sys
from datetime import UTC, datetime

ROOT = "fabric_exporter"


class LogfmtFormatter(logging.Formatter):
    """`ts=… level=… logger=… msg="…"`; a traceback follows on the same line, escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        return " ".join(f"{key}={_quoted(value)}" for key, value in _fields(record))


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        return json.dumps(dict(_fields(record)), ensure_ascii=False)


def set_up(level: str, form: str) -> None:
    """Send everything of ours to stderr. `level` is a lower-case level name, `form` logfmt or json. Repeatable."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else LogfmtFormatter())
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False


def _fields(record: logging.LogRecord) -> list[tuple[str, str]]:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    found = [
        ("ts", moment),
        ("level", record.levelname.lower()),
        ("logger", record.name.removeprefix(ROOT + ".")),
        ("msg", record.getMessage()),
    ]
    if record.exc_info:
        found.append(("traceback", logging.Formatter().formatException(record.exc_info)))
    return found


def _quoted(value: str) -> str:
    return value if value and all(c.isalnum() or c in "_-.:/" for c in value) else json.dumps(value, ensure_ascii=False)
