"""Makers of IDs: the rule of clients/README.md."""

from __future__ import annotations

import _thread
import asyncio
import logging
import random
import sys
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, inf
from time import monotonic, time
from typing import Callable, TypeVar

from ._id import EPOCH, MAX_NODE, MAX_SECOND, WIDTH, Secret, check_range
from ._process import ForkCheck, Uncopied
from ._service import RandflakeError, Service, _Limits

PLACES = 1 << 17  # IDs in a second of a node
AHEAD = 180  # seconds of windows that are kept ahead
OLDEST = 300  # seconds for which a minter keeps IDs

T = TypeVar("T")


@dataclass
class _Lease:
    """Nodes that are this process's alone in the seconds of a window."""

    window: int
    first_node: int
    until: float  # by the monotonic clock
    cursor: int = 0  # how many places are used, second by second


class _Stock:
    """What a process has got from the service, for all its threads. A child begins with another one."""

    def __init__(self) -> None:
        self.process = ForkCheck()
        self.lock = threading.Lock()
        self.call: Future[BaseException | None] | None = None  # the one that is under way
        self.pause = 0.0  # seconds after a failed call
        self.retry = 0.0  # when a call in the background may be made again
        # Of a generator:
        self.began = monotonic()
        self.limits: _Limits | None = None
        self.leases: dict[int, _Lease] = {}  # by window
        self.lease: _Lease | None = None  # the one that was used last
        self.turn = inf  # by the monotonic clock, when the windows after that lease are taken
        self.wanted = 0  # the window to take
        self.batch: list[int] = []  # IDs made ahead, the next one last
        self.stale = 0.0  # by the clock, when the batch can't be used any more
        self.due = 0.0  # the same by the monotonic clock
        # Of a minter:
        self.minted: deque[tuple[float, int]] = deque()  # IDs, each with the time when it was asked for


class _Maker(Uncopied):
    """Has one call at a time fetch what the threads of a process need."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._stock = _Stock()

    def _fetch(self, stock: _Stock, wanted: int) -> None:
        """Makes a call, and puts what it brings into the stock."""
        raise NotImplementedError

    def _take(self, step: Callable[[_Stock], T | None]) -> T:
        """Returns what step, under the lock, gets out of the stock. While that is None, it waits for a call."""
        if not self._stock.process.same():  # also the lock is the parent's, and may be held for ever
            self._stock = _Stock()
        stock = self._stock
        while True:
            with stock.lock:
                got = step(stock)
                if got is not None:
                    return got
                call = stock.call or self._start(stock)
            if error := call.result():
                raise error

    def _ahead(self, stock: _Stock) -> None:
        """Under the lock: begins a call in the background, unless one is under way or failed a moment ago."""
        if not stock.call and monotonic() >= stock.retry:
            with suppress(RuntimeError):  # the interpreter ends, or there are too many threads
                self._start(stock)

    def _start(self, stock: _Stock) -> Future[BaseException | None]:
        """Under the lock: begins a call, in a thread without the locks of threading, which a fork in C may leave held."""
        if sys.is_finalizing():  # no thread runs again
            raise RuntimeError("randflake: no lease, and the interpreter ends")
        call: Future[BaseException | None] = Future()
        _thread.start_new_thread(self._run, (stock, stock.wanted, call))
        stock.call = call
        return call

    def _run(self, stock: _Stock, wanted: int, call: Future[BaseException | None]) -> None:
        failed = None
        try:
            self._fetch(stock, wanted)
        except BaseException as error:  # also what kills a thread
            failed = error
        with stock.lock:
            stock.call = None
            stock.pause = min(max(1.0, 2 * stock.pause), 16.0) if failed else 0.0
            stock.retry = monotonic() + stock.pause
        if failed:  # that no caller may be waiting for
            logging.getLogger("randflaked").warning("call of the service: %s", failed)
        call.set_result(failed)


class Generator(_Maker):
    """Makes IDs under leases of randflaked. Safe for use by many threads, but not in signal handlers.

    Only the first ID waits for the service: a thread takes the next windows in time. A child process takes leases of its
    own.
    """

    def __init__(self, service: Service, secret: Secret, nodes: int = 1) -> None:
        super().__init__(service)
        if not isinstance(service, Service) or not isinstance(secret, Secret):
            raise ValueError("randflake: want a Service, and a Secret such as Secret.parse returns")
        self._nodes = check_range("nodes", nodes, 1, MAX_NODE + 1)
        self._secret = secret

    def generate(self) -> int:
        """Returns a new ID, a signed integer of 64 bits. Raises RandflakeError if there is no lease."""
        id = self._ready(self._stock)
        return self._take(self._one) if id is None else id

    def fill(self, count: int) -> list[int]:
        """Returns new IDs, faster than one by one: up to 131,072 for each node."""
        count = check_range("count", count, 1, self._nodes * PLACES)  # that fit into any lease
        return self._secret._encrypt(self._take(lambda stock: self._claim(stock, count)))

    def _ready(self, stock: _Stock) -> int | None:
        """Returns an ID of the batch, if it can be used and has one. Needs no lock."""
        if time() < stock.stale and monotonic() < stock.due and stock.process.same():
            try:  # faster than suppress
                return stock.batch.pop()
            except IndexError:
                pass
        return None

    def _one(self, stock: _Stock) -> int | None:
        """Under the lock: returns an ID of a new batch, or None if another lease must be taken first."""
        id = self._ready(stock)  # of a batch that another thread has just made
        if id is not None:
            return id
        now = time()
        raws = self._claim(stock, WIDTH)
        if raws is None:
            return None
        id, *batch = self._secret._encrypt(raws)
        stock.batch = batch[::-1]
        stock.stale = int(now) + 1
        stock.due = min(monotonic() + 1, stock.lease.until)
        return id

    def _claim(self, stock: _Stock, count: int) -> list[int] | None:
        """Under the lock: returns raw values that follow each other, or None if another lease must be taken first."""
        if not stock.limits:
            return None
        width = stock.limits.window
        places = self._nodes * PLACES
        now = monotonic()
        second = int(time())
        stock.wanted = second // width
        lease = self._current(stock, now)
        if not lease:
            return None
        start = lease.window * width
        held = min(max(second - start, 0), width - 1)  # in the window, even if the clock was set
        cursor = max(lease.cursor, held * places)
        if cursor + count > width * places:
            return None
        if lease is not stock.lease:
            stock.lease = lease
            stock.turn = max(now, lease.until - width * random.uniform(0.1, 0.5))
        self._plan(stock, max(lease.window, stock.wanted), now)
        lease.cursor = cursor + count
        raws: list[int] = []
        while cursor < lease.cursor:  # each second's part is one run of raw values
            second, place = divmod(cursor, places)
            first = (start - EPOCH + second << 34) + lease.first_node * PLACES + place
            raws += range(first, first + min(lease.cursor - cursor, places - place))
            cursor = (second + 1) * places
        return raws

    def _current(self, stock: _Stock, now: float) -> _Lease | None:
        """Under the lock: returns the lease of the clock's window, or else the last one, as after a clock was set."""
        stock.leases = {window: lease for window, lease in stock.leases.items() if now < lease.until}
        last = stock.lease if stock.lease and now < stock.lease.until else None
        return stock.leases.get(stock.wanted, last)

    def _plan(self, stock: _Stock, present: int, now: float) -> None:
        """Under the lock: has the first window taken that has no lease and should have one."""
        width, ahead, _ = stock.limits
        if now < stock.turn:
            depth = 0
        elif now - stock.began < width:
            depth = 1
        else:
            depth = min(ahead, ceil(AHEAD / width) + 1)
        for window in range(present, present + depth + 1):
            if window not in stock.leases:
                stock.wanted = window
                return self._ahead(stock)

    def _fetch(self, stock: _Stock, wanted: int) -> None:
        if not stock.limits:
            limits = self._service._limits()
            check = self._secret.check_value()
            if limits.check not in ("", check):
                message = (f"the space is for IDs of the secret with the check value {limits.check}, "
                           f"this one has {check}: is it of another environment?")
                raise RandflakeError("failed_precondition", message, "WRONG_SECRET")
            stock.limits = limits
            wanted = int(time()) // limits.window
        start = wanted * stock.limits.window
        end = start + stock.limits.window
        until = monotonic() + end - time()
        first_node = self._service._take(wanted, self._nodes, start, end)
        with stock.lock:
            stock.leases[wanted] = _Lease(wanted, first_node, until)


class LeasedGenerator(Uncopied):
    """Makes IDs under a lease that was given by hand: of one node, in the Unix seconds from start to before end.

    Nothing else may ever make IDs of this node in these seconds, so a program that starts again needs a later start.
    Safe for use by many threads. A child process is refused.
    """

    def __init__(self, node: int, start: int, end: int, secret: Secret) -> None:
        self._node = check_range("node", node, 0, MAX_NODE)
        self._start = check_range("start", start, EPOCH, MAX_SECOND)
        self._end = check_range("end", end, self._start + 1, MAX_SECOND + 1)
        self._secret = secret
        self._process = ForkCheck()
        self._lock = threading.Lock()
        self._cursor = self._start * PLACES

    def generate(self) -> int:
        """Returns a new ID. Raises ValueError outside the lease."""
        if not self._process.same():
            raise ValueError("randflake: the lease is the parent's: give the child one of its own")
        with self._lock:
            second = int(time())
            cursor = max(self._cursor, second * PLACES)
            if second < self._start or cursor >= self._end * PLACES:
                raise ValueError(f"randflake: want a lease for {second}: this one is from {self._start} to {self._end}")
            self._cursor = cursor + 1
        raw = cursor // PLACES - EPOCH << 34 | self._node << 17 | cursor % PLACES
        return self._secret._encrypt([raw])[0]


class AsyncGenerator:
    """A Generator for asyncio: IDs are made ahead, and leases taken, in a thread."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def generate(self) -> int:
        id = self._generator._ready(self._generator._stock)
        return await asyncio.to_thread(self._generator.generate) if id is None else id


class Minter(_Maker):
    """Hands out IDs that the service makes, and keeps some ready. Needs no secret. Safe for use by many threads.

    It asks for batch IDs at a time, or for as many as the service allows in a call.
    """

    def __init__(self, service: Service, batch: int = 512) -> None:
        super().__init__(service)
        self._batch = check_range("batch", batch, 1, 65536)

    def mint(self) -> int:
        """Returns a new ID, a signed integer of 64 bits. It waits for the service only if none is ready."""
        return self.fill(1)[0]

    def fill(self, count: int) -> list[int]:
        """Returns new IDs: up to 1,048,576."""
        count = check_range("count", count, 1, 1 << 20)
        ids: list[int] = []
        while len(ids) < count:
            ids += self._take(lambda stock: self._some(stock, count - len(ids)))
        return ids

    def _some(self, stock: _Stock, most: int) -> list[int] | None:
        """Under the lock: returns at most `most` IDs, or None if the stock is empty."""
        while stock.minted and monotonic() >= stock.minted[0][0] + OLDEST:
            stock.minted.popleft()
        got = [stock.minted.popleft()[1] for _ in range(min(most, len(stock.minted)))]
        if len(stock.minted) <= self._batch // 4:
            self._ahead(stock)
        return got or None

    def _fetch(self, stock: _Stock, wanted: int) -> None:
        asked = monotonic()
        while True:
            try:
                ids = self._service._mint(self._batch)
                break
            except RandflakeError as error:
                if not 0 < (error.limit or 0) < self._batch:
                    raise
                self._batch = error.limit
        with stock.lock:
            stock.minted.extend((asked, id) for id in ids)
