"""The recording's tables, and what a file must be to be ours. Data, no connection.

A chapter is an hour, or less where the daemon started, reloaded, or could not write for a while. Its layouts leave with its last row, so
nobody need count who uses what. A chapter holds what makes its health again: exactly as it began (`is_start`), or where it stood. Its
times are those of its first tick: where that has left with the oldest rows, a reader sees it.
"""

import sqlite3

FILE = "recording.sqlite"
"""Its name in the state directory."""
VERSION = 1
"""PRAGMA user_version."""
APPLICATION_ID = 0x46614252
"""PRAGMA application_id: FaBR."""

TABLES = {
    "chapters": (
        "id INTEGER PRIMARY KEY, is_start INTEGER NOT NULL, boot_id TEXT NOT NULL, wall_s REAL NOT NULL, monotonic_s REAL NOT NULL, "
        "document BLOB NOT NULL"
    ),
    "layouts": "chapter INTEGER NOT NULL, number INTEGER NOT NULL, document BLOB NOT NULL, PRIMARY KEY (chapter, number)",
    "rows": (
        "id INTEGER PRIMARY KEY, chapter INTEGER NOT NULL, first_wall_s REAL NOT NULL, last_wall_s REAL NOT NULL, "
        "first_monotonic_s REAL NOT NULL, last_monotonic_s REAL NOT NULL, ticks INTEGER NOT NULL, lost INTEGER NOT NULL, text BLOB NOT NULL"
    ),
    "events": (
        "id INTEGER PRIMARY KEY, chapter INTEGER NOT NULL, kind TEXT NOT NULL, wall_s REAL NOT NULL, monotonic_s REAL NOT NULL, "
        "link TEXT NOT NULL, document TEXT NOT NULL"
    ),
}
INDEXES = ("rows_of ON rows (chapter)", "events_of ON events (chapter)")
CREATE = (
    *(f"CREATE TABLE {name} ({columns})" for name, columns in TABLES.items()),
    *(f"CREATE INDEX {index}" for index in INDEXES),
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
"""Run in one transaction: a file has all of it or nothing."""

TROUBLE = (sqlite3.Error, UnicodeDecodeError)
"""What sqlite3 raises. It makes a text of SQLite's message, which quotes names of a damaged schema as they are."""


class NewerRecordingError(Exception):
    """A later version of this program made the file: it is left alone."""


class ForeignFileError(Exception):
    """A database of something else has the recording's name."""


class NoRecordingError(Exception):
    """The file is none, or damaged; the text says which."""
