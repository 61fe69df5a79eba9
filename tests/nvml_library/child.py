"""A Python process that loads the fake library through the unmodified pynvml, steered line by line.

pynvml keeps a loaded library for ever, so each script has a process of its own. Of a script: `N` is pynvml, `started()` starts it and gives
the handle of each GPU, `told(value)` sends JSON to the test, `pause()` waits for its `go_on()`, `outcome(call, …)` is what a call returns
or the name of its error, `values(gpu, pairs)` reads fields.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from types import TracebackType
from typing import Any, NoReturn, Self

ROOT = Path(__file__).parents[2]

PREAMBLE = """
import ctypes, json
import pynvml as N

def told(value):
    print(json.dumps(value), flush=True)

pause = input

def started():
    "After nvmlInit, the handle of each GPU."
    N.nvmlInit()
    return [N.nvmlDeviceGetHandleByIndex(index) for index in range(N.nvmlDeviceGetCount())]

def outcome(call, *arguments):
    "What a call returns, or the name of what it raises."
    try:
        answer = call(*arguments)
    except N.NVMLError as error:
        return type(error).__name__
    return answer

def value_of(one):
    "A field value by its returned type, or its return code."
    member = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")[one.valueType]
    return {"ret": one.nvmlReturn} if one.nvmlReturn else getattr(one.value, member)

def values(gpu, pairs):
    return [value_of(one) for one in N.nvmlDeviceGetFieldValues(gpu, pairs)]
"""


class Child:
    """Started at once; killed when the `with` ends, whatever it does then."""

    def __init__(self, script: str, environment: Mapping[str, str]) -> None:
        argv = [sys.executable, "-c", PREAMBLE + dedent(script)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._from = self.process.stdin, self.process.stdout

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    def told(self) -> Any:  # JSON
        """What it told next; waits for it. AssertionError if it ended instead."""
        line = self._from.readline()
        return json.loads(line) if line else self.fail()

    def go_on(self) -> None:
        """Let its `pause()` return."""
        self._to.write("\n")
        self._to.flush()

    def end(self, timeout_s: float = 60.0) -> int:
        """Its exit status (negative: the signal), once it ended. TimeoutExpired if it does not."""
        return self.process.wait(timeout_s)

    def fail(self) -> NoReturn:
        """AssertionError with what the process had to say. It must have ended or be about to."""
        _, errors = self.process.communicate(timeout=60.0)
        raise AssertionError(f"the script ended with {self.process.returncode}:\n{errors}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.__exit__(kind, error, trace)
