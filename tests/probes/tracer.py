"""`python -m tests.probes.tracer PID`: holds a process as a broken driver does. Once killed it stays, halfway out, until this one ends.

A tracer that asks for it is told when a process exits (PTRACE_EVENT_EXIT); until it answers the process is there and takes no signal."""

import ctypes
import os
import signal
import sys

PTRACE_SEIZE, PTRACE_O_TRACEEXIT = 0x4206, 0x40


def main() -> None:
    """Print a line once it is held; end with the input."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    failed = libc.ptrace(PTRACE_SEIZE, int(sys.argv[1]), None, PTRACE_O_TRACEEXIT)
    print(os.strerror(ctypes.get_errno()) if failed else "held", flush=True)
    sys.stdin.read()
    os.kill(int(sys.argv[1]), signal.SIGKILL)


if __name__ == "__main__":
    main()
