"""Makers of IDs: the rule of clients/README.md."""

from __future__ import annotations

import _thread
import asyncio
import logging
import secrets
import sys
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from math import inf
from time import monotonic, time
from typing import Callable, TypeVar

from ._id import EPOCH, MAX_NODE, WIDTH, Secret, check_range
from ._process import Mark, Uncopied
from ._service import Lease, Service, ServiceError

PLACES = 1 << 17  # IDs in a second of a node
UNKNOWN = 60  # seconds for which a call with an unknown outcome is repeated with the same token
MINTED, OLDEST = 512, 300  # IDs that a minter asks for, and seconds that it keeps them

T = TypeVar("T")


class _Stock:
    """What a process has got from the service, for all its threads. A child begins with another one."""

    def __init__(self) -> None:
        self.mark, self.lock = Mark(), threading.Lock()
        self.call: Future[None] | None = None  # the one that is under way
        self.pause, self.retry = 0.0, 0.0  # seconds, and when a call in the background may be made again
        # Of a generator:
        self.lease: Lease | None = None
        self.since, self.cursor = -inf, 0  # when the lease was asked for, and how many of its IDs are used
        self.pending = "", -inf  # the token of a call with an unknown outcome, and when it was sent first
        self.batch: list[int] = []  # IDs made ahead, the next one last
        self.stale, self.due = 0.0, 0.0  # by the clock and the monotonic clock, when the batch can't be used any more
        # Of a minter:
        self.minted: deque[tuple[float, str]] = deque()  # IDs, each with the time when it was asked for


class _Maker(Uncopied):
    """Has one call at a time fetch what the threads of a process need."""

    def __init__(self) -> None:
        self._stock = _Stock()

    def _fetch(self, stock: _Stock) -> None:
        """Makes a call, and puts what it brings into the stock."""
        raise NotImplementedError

    def _take(self, step: Callable[[_Stock], T | None]) -> T:
        """Returns what step, under the lock, gets out of the stock. While that is None, it waits for a call."""
        if not self._stock.mark.kept():  # also the lock is the parent's, and may be held for ever
            self._stock = _Stock()
        stock = self._stock
        while True:
            with stock.lock:
                got = step(stock)
                if got is not None:
                    return got
                call = stock.call or self._start(stock)
            call.result()

    def _ahead(self, stock: _Stock) -> None:
        """Under the lock: begins a call in the background, unless one is under way or failed a moment ago."""
        if not stock.call and monotonic() >= stock.retry:
            with suppress(RuntimeError):  # the interpreter ends, or there are too many threads
                self._start(stock).add_done_callback(_log)

    def _start(self, stock: _Stock) -> Future[None]:
        """Under the lock: begins a call, in a thread without the locks of threading, which a fork in C may leave held."""
        if sys.is_finalizing():  # no thread runs again
            raise RuntimeError("randflake: no lease, and the interpreter ends")
        call: Future[None] = Future()
        _thread.start_new_thread(self._run, (stock, call))
        stock.call = call
        return call

    def _run(self, stock: _Stock, call: Future[None]) -> None:
        failed: BaseException | None = None
        try:
            self._fetch(stock)
        except BaseException as error:  # also what kills a thread
            failed = error
        with stock.lock:
            stock.call, stock.pause = None, min(16.0, 2 * stock.pause or 1.0) if failed else 0.0
            stock.retry = monotonic() + stock.pause
        if failed:
            call.set_exception(failed)
        else:
            call.set_result(None)


def _log(call: Future[None]) -> None:
    """Logs a failure that no caller may be waiting for. It runs when the lock is free again."""
    if call.exception():
        logging.getLogger("randflaked").warning("call in the background: %s", call.exception())


class Generator(_Maker):
    """Makes IDs under leases of randflaked. Safe for use by many threads, but not in signal handlers.

    Only the first ID waits for the service. At two thirds of ttl seconds a thread takes the next lease; if that fails,
    the present one serves until it is ttl seconds old. A child process takes a lease of its own.
    """

    def __init__(self, service: Service, secret: Secret, nodes: int = 1, ttl: int = 300) -> None:
        super().__init__()
        if not isinstance(service, Service) or not isinstance(secret, Secret):
            raise ValueError("randflake: want a Service, and a Secret such as Secret.parse returns")
        check_range("nodes", nodes, 1, MAX_NODE + 1)
        check_range("ttl", ttl, 1, (1 << 32) - 1)
        self._service, self._secret, self._nodes, self._ttl = service, secret, nodes, ttl

    def generate(self) -> int:
        """Returns a new ID, a signed integer of 64 bits. Raises ServiceError if there is no lease."""
        id = self._ready(self._stock)
        return self._take(self._one) if id is None else id

    def fill(self, count: int) -> list[int]:
        """Returns new IDs, faster than one by one: up to 131,072 for each node."""
        check_range("count", count, 1, self._nodes * PLACES)  # that fit into any lease
        return self._secret.encrypt(self._take(lambda stock: self._claim(stock, count)))

    def _ready(self, stock: _Stock) -> int | None:
        """Returns an ID of the batch, if it can be used and has one. Needs no lock."""
        if time() < stock.stale and monotonic() < stock.due and stock.mark.kept():
            try:
                return stock.batch.pop()
            except IndexError:
                pass
        return None

    def _one(self, stock: _Stock) -> int | None:
        """Under the lock: returns an ID of a new batch, or None if another lease must be taken first."""
        id, now = self._ready(stock), time()  # of a batch that another thread has just made
        if id is None and (raws := self._claim(stock, WIDTH)):
            id, *batch = self._secret.encrypt(raws)
            turn = stock.since + self._ttl * 2 / 3
            stock.batch, stock.stale = batch[::-1], int(now) + 1
            stock.due = turn if monotonic() < turn else stock.since + self._ttl
        return id

    def _claim(self, stock: _Stock, count: int) -> list[int] | None:
        """Under the lock: returns raw values that follow each other, or None if another lease must be taken first."""
        age = monotonic() - stock.since
        if not stock.lease or age >= self._ttl:
            return None
        if age >= self._ttl * 2 / 3:
            self._ahead(stock)
        first_node, last_node, start, high_water = stock.lease
        places = (last_node - first_node + 1) * PLACES
        second = min(max(int(time()), start), high_water)
        cursor = max(stock.cursor, (second - start) * places)
        if cursor + count > (high_water - start + 1) * places:
            return None
        stock.cursor = cursor + count
        raws: list[int] = []
        while cursor < stock.cursor:  # each second's part is one run of raw values
            second, place = divmod(cursor, places)
            first = (start - EPOCH + second << 34) + first_node * PLACES + place
            raws += range(first, first + min(stock.cursor - cursor, places - place))
            cursor = (second + 1) * places
        return raws

    def _fetch(self, stock: _Stock) -> None:
        owner, asked = stock.pending
        retry = monotonic() < asked + UNKNOWN
        if not retry:
            owner, asked = (int(time()).to_bytes(6, "big") + secrets.token_bytes(10)).hex(), monotonic()
            stock.pending = owner, asked
        try:
            lease = self._service.acquire(self._nodes, self._ttl, owner, self._secret.check_value(), retry)
        except ServiceError as error:
            if not error.unknown:
                stock.pending = "", -inf
            raise
        with stock.lock:
            if stock.pending[0] == owner:  # once, as an exception in _start may lead to another call with this token
                stock.lease, stock.since, stock.cursor, stock.pending = lease, asked, 0, ("", -inf)


class AsyncGenerator:
    """A Generator for asyncio: IDs are made ahead, and leases taken, in a thread."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def generate(self) -> int:
        id = self._generator._ready(self._generator._stock)
        return await asyncio.to_thread(self._generator.generate) if id is None else id


class Minter(_Maker):
    """Hands out IDs that the service makes, and keeps some ready. Needs no secret. Safe for use by many threads."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    def mint(self, count: int = 1) -> list[str]:
        """Returns new IDs, as text. It waits for the service only if too few are ready."""
        check_range("count", count, 1, 1 << 20)
        ids: list[str] = []
        while len(ids) < count:
            ids += self._take(lambda stock: self._some(stock, count - len(ids)))
        return ids

    def _some(self, stock: _Stock, most: int) -> list[str] | None:
        """Under the lock: returns at most `most` IDs, or None if the stock is empty."""
        while stock.minted and monotonic() >= stock.minted[0][0] + OLDEST:
            stock.minted.popleft()
        got = [stock.minted.popleft()[1] for _ in range(min(most, len(stock.minted)))]
        if len(stock.minted) <= MINTED // 4:
            self._ahead(stock)
        return got or None

    def _fetch(self, stock: _Stock) -> None:
        asked, ids = monotonic(), self._service.mint(MINTED)
        with stock.lock:
            stock.minted.extend((asked, id) for id in ids)
