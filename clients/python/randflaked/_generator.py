import asyncio
import secrets
from math import inf
from time import monotonic, time
from typing import List, Optional, Tuple

from ._cipher import WIDTHS, Cipher
from ._errors import FINAL, InvalidArgumentError, ServiceError, check_range
from ._id import EPOCH, MAX_NODE
from ._secret import Secret
from ._service import Lease, Service
from ._stock import Stock, Stocked

UNKNOWN = 60  # seconds for which a call with an unknown outcome is repeated with the same token
PLACES = 1 << 17  # IDs in a second of a node


class Generator(Stocked):
    """Makes IDs under leases of randflaked. Safe for use by many threads, but not in signal handlers.

    Only the first ID waits for the service. At two thirds of ttl seconds a thread takes the next lease; if that fails,
    the present one serves until it is ttl seconds old. A child process takes a lease of its own.
    """

    def __init__(self, service: Service, secret: Secret, nodes: int = 1, ttl: int = 300) -> None:
        if not isinstance(service, Service) or not isinstance(secret, Secret):
            raise InvalidArgumentError("randflake: want a Service, and a Secret such as Secret.parse returns")
        check_range("nodes", nodes, 1, MAX_NODE + 1)
        check_range("ttl", ttl, 1, (1 << 32) - 1)
        self.cipher, self._places, self._ttl, check = Cipher(secret), nodes * PLACES, ttl, secret.check_value()
        super().__init__(lambda: _Leased(service, self.cipher, check, nodes, ttl))

    def generate(self) -> int:
        """Returns a new ID, a signed integer of 64 bits. Raises ServiceError if there is no lease."""
        stock = self._stock
        if time() < stock.stale and monotonic() < stock.due and stock.mark.kept():
            try:
                return stock.batch.pop()
            except IndexError:
                pass
        return self._take(_Leased.one)

    def fill(self, count: int) -> List[int]:
        """Returns new IDs, faster than one by one. There are nodes * ttl * 131,072 at most."""
        check_range("count", count, 1, self._ttl * self._places)
        ids: List[int] = []
        while len(ids) < count:
            part = min(count - len(ids), self._places)  # fits into any lease
            for run in self._take(lambda stock: stock.claim(part, part)):
                ids += self.cipher.encrypt(*run)
        return ids


class AsyncGenerator:
    """Is a Generator for asyncio: it awaits leases, in threads, where the Generator waits for them."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def generate(self) -> int:
        id = self._generator._take(_Leased.one, wait=False)
        return await asyncio.to_thread(self._generator.generate) if id is None else id

    async def fill(self, count: int) -> List[int]:
        return await asyncio.to_thread(self._generator.fill, count)


class _Leased(Stock):
    """A lease, and what is left of it: the rule of clients/README.md. The lock is held for all methods but fetch."""

    def __init__(self, service: Service, cipher: Cipher, check: str, nodes: int, ttl: int) -> None:
        super().__init__()
        self.service, self.cipher, self.check, self.nodes, self.ttl = service, cipher, check, nodes, ttl
        self.lease: Optional[Lease] = None
        self.since = self.due = 0.0  # when the lease was asked for, and when tend has something to do
        self.cursor, self.owner, self.asked = 0, "", 0.0
        self.batch: List[int] = []  # IDs made ahead, the next one last
        self.stale, self.size = 0.0, 0  # when the batch's second is over, and how many IDs it had

    def fetch(self) -> None:
        retry = self.owner != "" and monotonic() - self.asked < min(UNKNOWN, self.ttl)
        if not retry:
            self.owner, self.asked = (int(time()).to_bytes(6, "big") + secrets.token_bytes(10)).hex(), monotonic()
        try:
            lease = self.service.acquire(self.nodes, self.ttl, self.owner, self.check, retry)
        except ServiceError as error:
            if error.code in FINAL:
                self.owner = ""
            raise
        with self.lock:
            self.lease, self.since, self.cursor, self.batch, self.owner = lease, self.asked, 0, [], ""

    def over(self, done: bool) -> None:
        super().over(done)
        self.due = 0.0

    def tend(self) -> None:
        """Forgets a lease that is too old, and has the next one taken in time."""
        now = monotonic()
        if self.lease and now >= self.since + self.ttl:
            self.lease, self.batch = None, []
        if self.lease and now >= self.since + self.ttl * 2 / 3:
            self.ahead()
            self.due = min(self.since + self.ttl, inf if self.call else self.retry)
        else:
            self.due = self.since + self.ttl * 2 / 3 if self.lease else 0.0

    def claim(self, least: int, most: int) -> Optional[List[Tuple[int, int]]]:
        """Returns runs of raw values, each with its length, or None where a lease must be taken first."""
        self.tend()
        if not self.lease:
            return None
        first_node, last_node, start, high_water = self.lease
        places = (last_node - first_node + 1) * PLACES
        second = min(max(int(time()), start), high_water)
        cursor, end = max(self.cursor, (second - start) * places), (high_water - start + 1) * places
        if cursor + least > end:
            return None
        self.cursor = min(cursor + most, end)
        runs: List[Tuple[int, int]] = []
        while cursor < self.cursor:  # each second's part is one run of raw values
            second, place = divmod(cursor, places)
            count = min(self.cursor - cursor, places - place)
            runs.append(((start - EPOCH + second << 34) + first_node * PLACES + place, count))
            cursor += count
        return runs

    def one(self) -> Optional[int]:
        """Returns an ID of the batch, or of a new one that is larger if the last one was of the same second."""
        self.tend()
        size = WIDTHS[0]
        if time() < self.stale:
            try:
                return self.batch.pop()
            except IndexError:
                size = next((w for w in WIDTHS if w > self.size), WIDTHS[-1])
        runs = self.claim(1, size)
        if runs is None:
            return None
        second = (runs[0][0] >> 34) + EPOCH
        self.stale, self.size = inf if second == self.lease.high_water else second + 1, size
        ids = [id for run in runs for id in self.cipher.encrypt(*run)][::-1]
        id, self.batch = ids.pop(), ids
        return id
