import _thread
import logging
import threading
from concurrent.futures import Future
from time import monotonic
from typing import Any, Callable, Optional

from ._process import Mark, Uncopied


class Stock:
    """What a process has fetched and not used yet. One call for more is under way at a time."""

    def __init__(self) -> None:
        self.mark, self.lock = Mark(), threading.Lock()
        self.call: "Optional[Future[None]]" = None
        self.pause = self.retry = 0.0  # seconds, and when a call in the background may be made again

    def fetch(self) -> None:
        """Makes a call, and stores what it brings under the lock."""

    def make(self, call: "Future[None]") -> None:
        """Without the lock: makes a call, and tells those that wait for it."""
        error: Optional[Exception] = None
        try:
            self.fetch()
        except Exception as e:
            error = e
        finally:
            with self.lock:
                self.over(error is None)
            call.set_exception(error) if error else call.set_result(None)

    def make_ahead(self, call: "Future[None]") -> None:
        self.make(call)
        if call.exception():
            logging.getLogger("randflaked").warning("call in the background: %s", call.exception())

    def ahead(self) -> None:
        """Under the lock: has a thread make a call, unless one is under way or failed a moment ago."""
        if not self.call and monotonic() >= self.retry:
            self.call = Future()
            try:  # _thread takes no lock of the module threading, which a fork in C may have left held
                _thread.start_new_thread(self.make_ahead, (self.call,))
            except RuntimeError:  # the interpreter ends, or there are too many threads
                self.over(False)

    def over(self, done: bool) -> None:
        """Under the lock: the call has ended."""
        self.call, self.pause = None, 0.0 if done else min(16.0, 2 * self.pause or 1.0)
        self.retry = monotonic() + self.pause


class Stocked(Uncopied):
    """Has one stock for all threads of a process, and begins with another one in a child."""

    def __init__(self, new: Callable[[], Any]) -> None:
        self._new, self._stock = new, new()

    def _take(self, step: Callable[[Any], Any], wait: bool = True) -> Any:
        """Returns what step gets out of the stock, under its lock. While that is None, it makes calls, or waits."""
        while True:
            stock = self._stock
            if not stock.mark.kept():  # also the lock is the parent's, and may be held for ever
                stock = self._stock = self._new()
            with stock.lock:
                got, call, mine = step(stock), stock.call, not stock.call
                if got is not None or not wait:
                    return got
                if mine:
                    stock.call = call = Future()
            if mine:
                stock.make(call)
            call.result()
