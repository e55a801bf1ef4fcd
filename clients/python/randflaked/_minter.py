from time import monotonic
from typing import List, Optional, Tuple

from ._errors import check_range
from ._service import Service
from ._stock import Stock, Stocked

BATCH, OLDEST = 512, 300  # IDs, seconds


class Minter(Stocked):
    """Hands out IDs that the service makes, and keeps some ready. Needs no secret. Safe for use by many threads."""

    def __init__(self, service: Service) -> None:
        super().__init__(lambda: _Minted(service))

    def mint(self, count: int = 1) -> List[str]:
        """Returns new IDs, as text. It waits for the service only if too few are ready."""
        check_range("count", count, 1, 1 << 20)
        ids: List[str] = []
        while len(ids) < count:
            ids += self._take(lambda stock: stock.some(count - len(ids)))
        return ids


class _Minted(Stock):
    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service, self.batches = service, []  # type: Service, List[Tuple[float, List[str]]]

    def fetch(self) -> None:
        asked, ids = monotonic(), self.service.mint(BATCH)
        with self.lock:
            self.batches.append((asked, ids))

    def some(self, most: int) -> Optional[List[str]]:
        """Under the lock: returns up to so many IDs, or None where there are none."""
        self.batches = [(asked, ids) for asked, ids in self.batches if ids and monotonic() < asked + OLDEST]
        if not self.batches:
            return None
        ids = self.batches[0][1]
        got, ids[:most] = ids[:most], []
        if sum(len(ids) for _, ids in self.batches) <= BATCH // 4:
            self.ahead()
        return got
