import http.client
import json
import re
import socket
import ssl
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple, Union
from urllib.parse import urlsplit

from ._errors import InvalidOptionError, ServiceError
from ._generator import Lease

# Errors after which nothing was done, and another replica would say the same. (https://connectrpc.com/docs/protocol)
DEFINITE = {"invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated",
            "resource_exhausted", "failed_precondition", "out_of_range", "unimplemented"}
BY_STATUS = {401: "unauthenticated", 403: "permission_denied", 404: "unimplemented", 429: "unavailable",
             502: "unavailable", 503: "unavailable", 504: "unavailable"}
LONGEST_ANSWER = 1 << 22  # bytes

Base = Tuple[str, str, Optional[int], str]  # scheme, host, port and path of an address


class Record(NamedTuple):
    """What randflaked keeps of a range of nodes. Seconds are Unix seconds, tokens 32 hexadecimal digits."""

    first_node: int
    last_node: int
    owner: str
    change: str  # the token of the newest change
    start: int
    high_water: int  # the last second of the lease, included
    sent: Dict[str, Any]  # all of it as it came, to be sent back

    @property
    def lease(self) -> Lease:
        return Lease(self.first_node, self.last_node, self.start, self.high_water + 1)


class Lost(NamedTuple):
    """Says that a lease is held by another owner, or by nobody."""

    others: int  # the first second that another owner was granted, or can be; 0 if unknown
    why: str
    unsure: bool  # an earlier attempt of the same call, whose answer was lost, may have been what changed the record

    def spares(self, last: int) -> bool:
        """Reports whether a lease that ends with this second may be used to its end."""
        return self.others > last


class Service:
    """Speaks to randflaked, with one space of it, through any of its replicas. Safe for use by many threads.

    addresses are URLs such as "https://ids.internal:8443", one or several. token is a bearer token, or a function that
    returns the one to use now. tls is for private authorities and client certificates; see ssl.create_default_context.
    """

    def __init__(self, addresses: Union[str, Sequence[str]], space: str, *,
                 token: Union[str, Callable[[], str], None] = None, tls: Optional[ssl.SSLContext] = None) -> None:
        self._replicas = [_base(a) for a in ([addresses] if isinstance(addresses, str) else addresses)]
        if not self._replicas:
            raise InvalidOptionError("randflake: addresses: want at least one, such as https://ids.internal:8443")
        self._space, self._token, self._tls = space, token, tls
        self._turn = 0  # the replica that answered last

    def mint(self, count: int = 1, timeout: float = 10.0) -> List[str]:
        """Has the service make up to 65,536 IDs, as text. When an answer is lost its IDs are, and nobody gets them."""
        answer = self._call("IDService/Mint", timeout, space=self._space, count=count)[0]
        return [str(id) for id in answer.get("ids") or _nonsense("no IDs")]

    def next(self, counter: str, count: int = 1, timeout: float = 10.0) -> List[int]:
        """Takes up to 65,536 numbers of a counter, in order. Those of an answer that is lost are lost."""
        answer = self._call("CounterService/Next", timeout, counter=counter, count=count)[0]
        return [int(number) for number in answer.get("numbers") or _nonsense("no numbers")]

    # Leases, as a Keeper takes them.

    def acquire(self, nodes: int, ttl: int, owner: str, check: str, timeout: float) -> Record:
        """Grants a range to owner, a new token. The same one again, after a lost answer, gets the same lease."""
        answer, _ = self._call("LeaseService/Acquire", timeout, space=self._space, nodes=nodes, ttlSeconds=ttl,
                               owner=owner, check=check)
        record = _record(answer.get("lease"))
        last_node = record.first_node + nodes - 1
        if record.owner != owner or record.last_node != last_node or record.high_water < record.start:
            _nonsense("a lease that was not asked for")
        return record

    def renew(self, held: Record, ttl: int, token: str, timeout: float) -> Union[Record, Lost]:
        """Raises the end of a lease to ttl seconds from now. token becomes the change of the record."""
        return self._outcome("LeaseService/Renew", held, timeout, ttlSeconds=ttl, token=token)

    def lookup(self, held: Record, timeout: float) -> Union[Record, Lost]:
        """Reads the record of a lease back, after an unknown outcome."""
        return self._outcome("LeaseService/Lookup", held, timeout)

    def release(self, held: Record, last_used: int, timeout: float) -> Optional[Lost]:
        """Gives a lease back that no generator uses any more."""
        answer, unsure = self._call("LeaseService/Release", timeout, space=self._space, held=held.sent,
                                    lastUsed=str(last_used))
        return _lost(answer["lost"], unsure) if answer.get("lost") is not None else None

    def _outcome(self, method: str, held: Record, timeout: float, **fields: Any) -> Union[Record, Lost]:
        answer, unsure = self._call(method, timeout, space=self._space, held=held.sent, **fields)
        if answer.get("lost") is not None:
            return _lost(answer["lost"], unsure)
        record = _record(answer.get("lease"))
        if record[:3] != held[:3] or record.start != held.start:
            _nonsense("another lease than the one that was asked for")
        return record

    def _call(self, method: str, timeout: float, **fields: Any) -> Tuple[Dict[str, Any], bool]:
        """Asks one replica after the other, until one answers. Each call may be repeated: owner, version and change
        tell the server that it was. Also returns whether an earlier attempt may have taken effect."""
        body = json.dumps(fields).encode()
        end, unsure = time.monotonic() + timeout, False
        for left in range(len(self._replicas), 0, -1):
            turn = self._turn
            replica = self._replicas[turn % len(self._replicas)]
            try:
                return self._ask(replica, method, body, (end - time.monotonic()) / left), unsure
            except ServiceError as error:
                error.unsure = unsure = unsure or error.unsure
                if error.code in DEFINITE:
                    raise
                self._turn = turn + 1
                if left == 1 or end <= time.monotonic():
                    raise
        raise AssertionError

    def _ask(self, replica: Base, method: str, body: bytes, timeout: float) -> Dict[str, Any]:
        scheme, host, port, path = replica
        headers = {"Content-Type": "application/json", "Connect-Protocol-Version": "1", "Connection": "close",
                   **self._authorization()}
        connection = (http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls) if scheme == "https"
                      else http.client.HTTPConnection(host, port, timeout=timeout))
        watchdog = threading.Timer(timeout, _hang_up, [connection])  # the connection's own timeout is for each byte
        watchdog.daemon = True
        sent = False
        try:
            watchdog.start()
            connection.connect()
            sent = True
            connection.request("POST", f"{path}/randflake.v1.{method}", body, headers)
            response = connection.getresponse()
            status, answer = response.status, response.read(LONGEST_ANSWER)
        except (OSError, http.client.HTTPException, ValueError) as error:
            what = f"{method} at {host}: no answer: {type(error).__name__}: {error}"
            raise ServiceError("unavailable", what, sent) from None
        finally:
            watchdog.cancel()
            connection.close()
        return _read(status, answer, f"{method} at {host}")

    def _authorization(self) -> Dict[str, str]:
        token = self._token() if callable(self._token) else self._token
        if token is None:
            return {}
        if not re.fullmatch("[!-~]+", token):
            raise InvalidOptionError("randflake: token: want visible ASCII characters, without blanks or line breaks")
        return {"Authorization": "Bearer " + token}


def _base(address: str) -> Base:
    try:
        url = urlsplit(address)
        if url.scheme in ("http", "https") and url.hostname and "@" not in url.netloc and not url.query + url.fragment:
            return url.scheme, url.hostname, url.port, url.path.rstrip("/")
    except ValueError:
        pass
    raise InvalidOptionError("randflake: address: want one such as https://ids.internal:8443, without user and query")


def _hang_up(connection: http.client.HTTPConnection) -> None:
    try:
        socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
    except (OSError, TypeError):
        pass  # not connected yet, or not any more


def _read(status: int, body: bytes, where: str) -> Dict[str, Any]:
    """Returns the message of an answer, or raises the error that it is."""
    answer: Any = None
    try:
        answer = json.loads(body)
    except ValueError:
        pass
    fields: Dict[str, Any] = {}
    if isinstance(answer, dict):
        fields = answer
    if status == 200 and answer is fields:
        return fields
    code = fields.get("code") or BY_STATUS.get(status, "unknown")
    message = " ".join(str(fields.get("message") or "no message of randflaked").split())
    raise ServiceError(str(code), f"{where}: status {status}: {message:.300}", code not in DEFINITE)


def _nonsense(what: str) -> NoReturn:
    raise ServiceError("internal", f"randflaked answered with {what}", True)


def _record(message: Any) -> Record:
    """Reads a lease by the JSON mapping of protobuf: 64-bit integers are strings, and zeros are left out."""
    try:
        first, last, start, end = (int(message.get(name) or 0)
                                   for name in ("firstNode", "lastNode", "start", "highWater"))
        Lease(first, last, start, max(start, end) + 1).check()
        return Record(first, last, str(message.get("owner") or ""), str(message.get("change") or ""), start, end, message)
    except (AttributeError, TypeError, ValueError):
        _nonsense("no lease")


def _lost(message: Any, unsure: bool) -> Lost:
    try:
        return Lost(int(message.get("others") or 0), str(message.get("why") or ""), unsure)
    except (AttributeError, TypeError, ValueError):
        _nonsense("no outcome")
