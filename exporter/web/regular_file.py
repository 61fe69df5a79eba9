"""Small files read on the event loop: whole, bounded, and never a pipe or a device, which would hold everybody up."""

import errno
import os
import stat

SIZE_MAX_BYTES = 1_048_576
"""Four times the bundle of authorities that systems ship."""


def read_regular(path: str) -> bytes:
    """All of a regular file. Raises OSError; for anything else than a regular file, and for one above SIZE_MAX_BYTES, too."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        content = b""
        while piece := os.read(handle, SIZE_MAX_BYTES + 1 - len(content)):
            content += piece
    finally:
        os.close(handle)
    if len(content) > SIZE_MAX_BYTES:
        raise OSError(errno.EFBIG, f"larger than {SIZE_MAX_BYTES // 1024} KiB")
    return content
