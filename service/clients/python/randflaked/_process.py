"""What belongs to one process: a check for forks, and what can't be copied."""

from __future__ import annotations

import mmap
import os
import sys
from contextlib import suppress
from typing import NoReturn

MADV_WIPEONFORK = 18  # of Linux 4.14 and later


class ForkCheck:
    """Tells the process that made it from its children, also from those that C code forked.

    A child finds the page wiped, even if it has its parent's process ID in another namespace. Not each system that
    accepts the advice follows it (QEMU does not), so the process ID is compared as well.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._page: bytes | mmap.mmap = b"\1"
        if sys.platform == "linux":
            with suppress(OSError):  # of an older Linux
                page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                page.madvise(MADV_WIPEONFORK)
                page[0] = 1
                self._page = page

    def same(self) -> bool:
        return self._page[0] == 1 and os.getpid() == self._pid


class Uncopied:
    """What can't be copied or pickled: a copy would make the same IDs, a pickle would show a secret."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"randflake: a {type(self).__name__} can't be copied or pickled: make one in each process")
