import threading
import time
from typing import Callable, List, NamedTuple, Optional, Tuple, Type

from . import _process
from ._cipher import WIDTHS, Cipher
from ._errors import (ClockBackwardError, ClosedError, EndOfLifeError, ExhaustedError, ForkedError, GenerateError,
                      InvalidLeaseError, LeaseEndedError, LeaseNotStartedError)
from ._id import EPOCH, MAX_NODE, MAX_SEQUENCE, MAX_TIMESTAMP, Fields, pack, unpack
from ._secret import Secret

CLOCK_TOLERANCE = 10  # seconds that the clock may be behind the newest ID


class Lease(NamedTuple):
    """The right to make IDs for some nodes, both bounds included, in the Unix seconds [start, end)."""

    first_node: int
    last_node: int
    start: int
    end: int

    def check(self) -> None:
        """Raises InvalidLeaseError when the lease can't be used."""
        if not 0 <= self.first_node <= self.last_node <= MAX_NODE:
            raise InvalidLeaseError(f"randflake: lease: nodes {self.first_node} to {self.last_node}: "
                                    f"want some of 0 to {MAX_NODE}")
        if not EPOCH <= self.start < self.end <= MAX_TIMESTAMP + 1:
            raise InvalidLeaseError(f"randflake: lease: seconds [{self.start}, {self.end}): "
                                    f"want some of [{EPOCH}, {MAX_TIMESTAMP + 1})")

    def shares_nodes(self, other: "Lease") -> bool:
        return self.first_node <= other.last_node and other.first_node <= self.last_node


class Generator:
    """Makes IDs under a lease. Safe for use by many threads, but not in a signal handler.

    All that there is to uniqueness is one integer that only grows, the next raw value: second, node and sequence are
    one number, and all that the leased nodes can make in one second is one run of numbers. The clock only says how far
    ahead it may jump. IDs are made in batches, larger ones the more are wanted; what is left of a batch when its second
    passes is dropped.
    """

    def __init__(self, secret: Secret, lease: Lease, *, clock: Callable[[], float] = time.time) -> None:
        lease.check()
        self.cipher = Cipher(secret)
        self._clock = clock
        self._process = _process.current
        self._lock = threading.Lock()
        self._over: Optional[Type[GenerateError]] = None  # why there are no IDs any more
        self._begin(lease)

    def _begin(self, lease: Lease) -> None:
        self._lease = lease
        self._base = self._next = pack(Fields(lease.start, lease.first_node, 0))
        self._batch: List[int] = []
        self._second, self._size = 0, 1  # of the batch, and how many IDs it had

    @property
    def lease(self) -> Lease:
        """The lease in force; after close, the last one."""
        return self._lease

    @property
    def forked(self) -> bool:
        """Whether this is a child's copy of its parent's generator."""
        return self._process is not _process.current

    def generate(self) -> int:
        """Returns a new ID, or raises a GenerateError at once."""
        if self._process is not _process.current:
            raise ForkedError()
        with self._lock:
            now = int(self._clock())
            if now == self._second and self._batch:
                return self._batch.pop()
            return self._refill(now)

    def fill(self, count: int) -> List[int]:
        """Returns count new IDs, or raises a GenerateError; then those that were made are lost. It is fast for many."""
        if self.forked:
            raise ForkedError()
        ids: List[int] = []
        with self._lock:
            while len(ids) < count:
                start, taken = self._claim(int(self._clock()), min(count - len(ids), WIDTHS[-1]))
                ids += self.cipher.encrypt_raws(range(start, start + taken))
        return ids

    def _refill(self, now: int) -> int:
        """Takes an ID of a new batch, larger than the last one if that was of the same second."""
        second = self._second_for(now)
        if second != self._second or not self._batch:
            size = next((w for w in WIDTHS if w > self._size), self._size) if second == self._second else 1
            start, taken = self._claim(now, size)
            self._batch = self.cipher.encrypt_raws(range(start, start + taken))
            self._second, self._size = second, size
        return self._batch.pop()

    def _claim(self, now: int, count: int) -> Tuple[int, int]:
        """Takes up to count raw values, at least one. Returns the first and how many."""
        start, left = self._plan(now)
        self._next = start + min(count, left)
        return start, min(count, left)

    def _plan(self, now: int) -> Tuple[int, int]:
        """Returns where a claim starts, and how many values are left in its second."""
        second, lease = self._second_for(now), self._lease
        start = max(self._next, pack(Fields(second, lease.first_node, 0)))
        left = pack(Fields(second, lease.last_node, MAX_SEQUENCE)) + 1 - start
        if left <= 0:
            raise ClockBackwardError() if now < second else ExhaustedError()
        return start, left

    def _second_for(self, now: int) -> int:
        """Returns the second that a new ID carries: now, or the newest one used if that is later."""
        if self._over:
            raise self._over()
        second = now
        if self._next > self._base:
            if now < self._last_used() - CLOCK_TOLERANCE:
                raise ClockBackwardError()
            second = max(now, self._last_used())
        if second > MAX_TIMESTAMP:
            raise EndOfLifeError()
        if second < self._lease.start:
            raise LeaseNotStartedError()
        if second >= self._lease.end:
            raise LeaseEndedError()
        return second

    def _last_used(self) -> int:
        """Returns the last second that was claimed, or the one before the lease. The value itself is next - 1: next may
        be the first of the second after."""
        return unpack(self._next - 1).second if self._next > self._base else self._lease.start - 1

    def check_ready(self) -> None:
        """Raises what generate would raise now, but for IDs in hand; makes no ID."""
        if self.forked:
            raise ForkedError()
        with self._lock:
            self._plan(int(self._clock()))

    def extend(self, end: int) -> None:
        """Moves the end of the lease to a later second."""
        with self._lock:
            if self._over:
                raise self._over()
            extended = self._lease._replace(end=end)
            extended.check()
            if end < self._lease.end:
                raise InvalidLeaseError(f"randflake: lease: new end {end}: want {self._lease.end} or later")
            self._lease = extended

    def replace(self, lease: Lease) -> int:
        """Goes on with another lease. Returns the last second that IDs under the old one carry, now or ever, or the one
        before its start. A lease that shares nodes with the old one must start after that: else InvalidLeaseError."""
        lease.check()
        with self._lock:
            if self._over is ClosedError:
                raise ClosedError()
            last_used = self._last_used()
            if lease.shares_nodes(self._lease) and lease.start <= last_used:
                raise InvalidLeaseError(f"randflake: lease: start {lease.start}: want one after {last_used}, as "
                                        "that was used on the same nodes")
            self._over = None
            self._begin(lease)
            return last_used

    def freeze(self) -> None:
        """Ends the lease at once: LeaseEndedError until replace."""
        with self._lock:
            if not self._over:
                self._over, self._batch = LeaseEndedError, []
                self._lease = self._lease._replace(end=max(self._last_used(), self._lease.start) + 1)

    def close(self) -> int:
        """Ends the generator. Returns the last second that its IDs carry, as replace does."""
        with self._lock:
            self._over, self._batch = ClosedError, []
            return self._last_used()
