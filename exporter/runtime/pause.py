"""Waiting in real time, kept beside the clock so that nothing else sleeps."""

import time


def pause(seconds: float) -> None:
    """Sleep that long."""
    time.sleep(seconds)
