import logging
import threading
import time
from types import TracebackType
from typing import Callable, List, Optional, Type

from . import _process
from ._cipher import Cipher
from ._errors import ClosedError, ForkedError, GenerateError, InvalidOptionError
from ._id import MAX_NODE
from ._keeping import Keeping, Options, Status
from ._secret import Secret
from ._service import Service


class Keeper:
    """Holds a lease of randflaked, and makes IDs under it. Safe for use by many threads.

    A thread renews the lease each third of ttl, rides out outages of the service, takes another lease when this one is
    lost, and gives it back on close. So IDs go on for more than 60% of ttl when the service fails. generate does no
    I/O, but for the first call after os.fork: it acquires a lease of the child's own.
    """

    def __init__(self, service: Service, secret: Secret, *, nodes: int = 1, ttl: int = 300,
                 clock: Callable[[], float] = time.time, logger: Optional[logging.Logger] = None) -> None:
        """Acquires a lease of nodes contiguous nodes, each good for 131,072 IDs a second, for ttl seconds.

        Raises ServiceError when there is none. clock tells Unix seconds and logger is told of each change, by default
        logging.getLogger("randflaked").
        """
        if not isinstance(secret, Secret):
            raise InvalidOptionError("randflake: secret: want a Secret, as from Secret.parse")
        if not isinstance(nodes, int) or not 1 <= nodes <= MAX_NODE + 1:
            raise InvalidOptionError(f"randflake: nodes: {nodes}: want 1 to {MAX_NODE + 1}")
        if not isinstance(ttl, int) or ttl < 3:
            raise InvalidOptionError(f"randflake: ttl: {ttl}: want whole seconds, at least 3")
        self._service, self._secret = service, secret
        self._options = Options(nodes, ttl, clock, logger or logging.getLogger("randflaked"))
        self._closed = False
        self._keeping = self._start()

    def _start(self) -> Keeping:
        keeping = Keeping(self._service, self._secret, self._options)
        self._thread = threading.Thread(target=keeping.run, name="randflaked keeper", daemon=True)
        self._thread.start()
        return keeping

    @property
    def cipher(self) -> Cipher:
        """Opens the IDs."""
        return self._keeping.generator.cipher

    def generate(self) -> int:
        """Returns a new ID, a signed integer of 64 bits that to_text makes text of, or raises a GenerateError."""
        try:
            return self._keeping.generator.generate()
        except GenerateError as refusal:
            self._refused(refusal)
        return self._keeping.generator.generate()

    def fill(self, count: int) -> List[int]:
        """Returns count new IDs, much faster than one by one. Raises as generate does; then those made are lost."""
        try:
            return self._keeping.generator.fill(count)
        except GenerateError as refusal:
            self._refused(refusal)
        return self._keeping.generator.fill(count)

    def _refused(self, refusal: GenerateError) -> None:
        """Returns when there is another generator to try, and otherwise raises the refusal."""
        if not isinstance(refusal, ForkedError):
            self._keeping.note(refusal)
            raise refusal
        with _process.current.lock:
            if self._closed:
                raise ClosedError()
            if self._keeping.generator.forked:
                self._keeping = self._start()

    def status(self) -> Status:
        """Returns how the keeper fares; alert when it is not healthy."""
        return self._keeping.snapshot()

    def close(self) -> None:
        """Ends the making of IDs and gives the lease back, so that another process can have its nodes at once.

        Where the service does not answer, it gives up after some ten seconds; the lease runs out by itself.
        """
        with _process.current.lock:
            self._closed = True
            keeping = self._keeping
        if keeping.generator.forked:
            return  # the lease is the parent's
        keeping.close()
        self._thread.join(keeping.limit + 1)

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
