"""Tells a process from the children that it forks, in which its threads are gone and its locks may be held for ever."""

import os
import threading


class Process:
    def __init__(self) -> None:
        self.lock = threading.Lock()


current = Process()


def _forked() -> None:
    global current
    current = Process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
