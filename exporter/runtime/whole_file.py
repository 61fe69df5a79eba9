"""Writing a text file whole or not at all. Knows no content."""

import contextlib
import os
import tempfile

OWNER_ONLY, ALL_MAY_READ = 0o600, 0o644


def write_whole(path: str, text: str, mode: int = OWNER_ONLY) -> None:
    """Write beside the file, then put it in its place: a reader or a power cut sees the old text or the new, never half. Leaves nothing
    beside it. Raises OSError."""
    handle, beside = tempfile.mkstemp(prefix=f".{os.path.basename(path)}-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(beside, mode)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
