import http.client
import io
import json
import re
import socket
import ssl
from contextlib import suppress
from time import monotonic
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, TypeVar, Union

from ._errors import FINAL, InvalidArgumentError, ServiceError, check_range
from ._id import EPOCH, MAX_NODE, MAX_TIMESTAMP
from ._process import Mark, Uncopied

LONGEST_ANSWER = 1 << 22  # bytes
LONGEST_IDLE = 60  # seconds that a connection is kept unused: randflaked closes it after 120

T = TypeVar("T")


class Lease(NamedTuple):
    """Nodes and Unix seconds that nobody else ever gets. All bounds are included."""

    first_node: int
    last_node: int
    start: int
    high_water: int


class Service(Uncopied):
    """Calls randflaked, for one space, through any of its replicas. Safe for use by many threads.

    addresses are URLs such as "https://ids.internal:8443", one or several. token is a bearer token, or a function that
    returns the one to use now. tls is for private authorities and client certificates. timeout is in seconds, and for a
    whole call, except that the system may take longer to look up a name.
    """

    def __init__(self, addresses: Union[str, Sequence[str]], space: str, *, timeout: float = 10.0,
                 token: Union[str, Callable[[], str], None] = None, tls: Optional[ssl.SSLContext] = None) -> None:
        self._replicas = [_Replica(a, tls) for a in ([addresses] if isinstance(addresses, str) else addresses)]
        if not self._replicas:
            raise InvalidArgumentError("randflake: addresses: want at least one, such as https://ids.internal:8443")
        self._space, self._timeout, self._token = space, timeout, token
        self._turn = 0  # the replica that answered last

    def mint(self, count: int = 1) -> List[str]:
        """Has the service make 1 to 65,536 IDs, as text. If the answer is lost, so are they."""
        return self._many("IDService/Mint", "ids", str, count, space=self._space)

    def next(self, counter: str, count: int = 1) -> List[int]:
        """Takes 1 to 65,536 numbers of a counter, in order. If the answer is lost, so are they."""
        return self._many("CounterService/Next", "numbers", int, count, counter=counter)

    def acquire(self, nodes: int, ttl: int, owner: str, check: str, retry: bool) -> Lease:
        """Takes a lease, for a Generator. The same owner again, with retry, gets the same lease."""

        def read(answer: Any) -> Lease:
            sent = answer["lease"]
            lease = Lease(*(int(sent.get(name, 0)) for name in ("firstNode", "lastNode", "start", "highWater")))
            if not (sent["owner"] == owner and 0 <= lease.first_node == lease.last_node - nodes + 1
                    and lease.last_node <= MAX_NODE and EPOCH <= lease.start <= lease.high_water <= MAX_TIMESTAMP):
                raise ValueError("not the lease that was asked for")
            return lease

        return self._call("LeaseService/Acquire", min(self._timeout, ttl), read, space=self._space, nodes=nodes,
                          ttlSeconds=ttl, owner=owner, check=check, retry=retry)

    def _many(self, method: str, name: str, kind: Callable[[Any], T], count: int, **fields: Any) -> List[T]:
        check_range("count", count, 1, 65536)

        def read(answer: Any) -> List[T]:
            if len(answer[name]) != count:
                raise ValueError(f"{len(answer[name])} {name}, want {count}")
            return [kind(value) for value in answer[name]]

        return self._call(method, self._timeout, read, count=count, **fields)

    def _call(self, method: str, timeout: float, read: Callable[[Any], T], **fields: Any) -> T:
        """Asks one replica after the other, the one that answered last first."""
        headers, end, turn = self._headers(), monotonic() + timeout, self._turn
        for left in range(len(self._replicas), 0, -1):
            replica = self._replicas[turn % len(self._replicas)]
            try:
                answer = replica.ask(method, json.dumps(fields).encode(), headers, (end - monotonic()) / left, read)
                self._turn = turn
                return answer
            except ServiceError as error:
                if error.code in FINAL or left == 1:
                    raise
            turn += 1
            fields.update({"retry": True} if "owner" in fields else {})
        raise AssertionError

    def _headers(self) -> "_Headers":
        headers = _Headers({"Content-Type": "application/json", "Connect-Protocol-Version": "1"})
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token() if callable(self._token) else self._token}"
            if not re.fullmatch("Bearer [!-~]+", headers["Authorization"]):
                raise InvalidArgumentError("randflake: token: want visible ASCII characters, without blanks")
        return headers


class _Headers(Dict[str, str]):
    __repr__ = object.__repr__  # it has the token


class _Replica:
    def __init__(self, address: str, tls: Optional[ssl.SSLContext]) -> None:
        parts = re.fullmatch(r"(https?)://(\[[\w:.]+\]|[^][/?#@:\s]+)(?::(\d{1,5}))?(/[^?#\s]*)?", address)
        if not parts:
            raise InvalidArgumentError("randflake: address: want one such as https://ids.internal:8443, "
                                       "without user and query")
        scheme, self._host, port, path = parts.groups("")
        self._port, self._path = int(port or {"http": 80, "https": 443}[scheme]), path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if scheme == "https" else None
        self._mark, self._idle = Mark(), []  # type: Mark, List[Any]

    def ask(self, method: str, body: bytes, headers: _Headers, timeout: float, read: Callable[[Any], T]) -> T:
        """Makes one call. read makes something of the answer, or raises an error where it makes no sense."""
        wire = None
        try:
            connection = self._connect(monotonic() + timeout)
            wire = connection.sock
            connection.request("POST", f"{self._path}/randflake.v1.{method}", body, headers)
            response = connection.getresponse()
            status, answer = response.status, response.read(LONGEST_ANSWER + 1)
            if len(answer) > LONGEST_ANSWER:
                raise ValueError(f"more than {LONGEST_ANSWER} bytes")
            if connection.sock and response.isclosed():  # all was read, and the replica keeps the connection
                wire.used = monotonic()
                self._idle.append(connection)
                wire = None
            if status == 200:
                return read(json.loads(answer))
            said = json.loads(answer)
            code, message = str(said["code"]), " ".join(str(said.get("message")).split())
            message = message.replace(headers.get("Authorization", "Bearer \n")[7:], "[redacted]")
        except Exception as error:  # there is no end to what may be wrong with an answer
            code, message = "unavailable", f"no answer: {type(error).__name__}: {error}"
        finally:
            if wire:
                wire.sock.close()
        raise ServiceError(code, f"{method} at {self._host}: {message:.300}")

    def _connect(self, end: float) -> http.client.HTTPConnection:
        if not self._mark.kept():  # the connections are the parent's
            self._idle, self._mark = [], Mark()
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.sock.alive():
                    connection.sock.end = end
                    return connection
        found = socket.getaddrinfo(self._host.strip("[]"), self._port, 0, socket.SOCK_STREAM)
        for left, (*kind, _, address) in zip(range(len(found), 0, -1), found):
            sock = socket.socket(*kind)
            try:
                sock.settimeout((end - monotonic()) / left)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.settimeout(end - monotonic())
                if self._tls:
                    sock = self._tls.wrap_socket(sock, server_hostname=self._host.strip("[]"))
                connection = http.client.HTTPConnection(self._host, self._port)
                connection.sock = _Wire(sock, end)
                return connection
            except (OSError, ValueError):
                sock.close()
                if left == 1:
                    raise
        raise OSError("no address")


class _Wire(io.RawIOBase):
    """A connection, as the socket of one of http.client. Each operation ends at a time, however slow the bytes are."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self.sock, self.end, self.used = sock, end, 0.0

    readable = lambda self: True
    makefile = lambda self, mode: io.BufferedReader(self)
    close = lambda self: None  # http.client closes what it still reads from

    def readinto(self, buffer: Any) -> int:
        self.sock.settimeout(self.end - monotonic())
        return self.sock.recv_into(buffer)

    def sendall(self, data: bytes) -> None:
        self.sock.settimeout(self.end - monotonic())
        self.sock.sendall(data)

    def __del__(self) -> None:
        self.sock.close()

    def alive(self) -> bool:
        """Reports whether the peer has neither closed the connection nor sent what nobody asked for."""
        try:
            self.sock.settimeout(0)
            self.sock.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return monotonic() < self.used + LONGEST_IDLE
        except OSError:
            pass
        return False
