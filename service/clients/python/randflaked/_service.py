"""Calls of randflaked: JSON over connections that are kept, to whichever replica answers."""

from __future__ import annotations

import io
import json
import os
import re
import selectors
import socket
import ssl
from collections import defaultdict
from datetime import datetime, timezone
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from time import monotonic
from typing import Any, Callable, Dict, NamedTuple, Sequence
from urllib.parse import SplitResult, urlsplit

from ._id import EPOCH, MAX_NODE, MAX_SECOND, check_range, parse_id
from ._process import ForkCheck, Uncopied

LONGEST_ANSWER = 1 << 22  # bytes
FINAL = {"invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated",
         "resource_exhausted", "failed_precondition", "out_of_range", "unimplemented"}


class RandflakeError(Exception):
    """randflaked refused, or did not answer: then code is "unavailable", and what it may have given is lost.

    code is one of Connect's. reason says why, such as "FULL", as docs/service.md lists; it is empty if the service gave
    none. message is for people. until is when the reason ends, and limit how much a call may ask for, or None where the
    service does not say.
    """

    def __init__(self, code: str, message: str, reason: str = "", until: datetime | None = None,
                 limit: int | None = None) -> None:
        super().__init__(code, message, reason, until, limit)
        self.code = code
        self.message = message
        self.reason = reason
        self.until = until
        self.limit = limit

    def __str__(self) -> str:
        return f"randflake: {self.message} ({self.code})"


class Numbers(NamedTuple):
    """Numbers of a counter, in order."""

    numbers: list[int]
    period: str  # in which they are, such as 2026-11-26, if the counter begins again with each; or else empty


class _Limits(NamedTuple):
    """What a space is like."""

    window: int  # seconds
    ahead: int  # how many windows beyond the present one may be taken
    check: str  # value of the secret, or empty


class Service(Uncopied):
    """Calls randflaked, for one space, through any of its replicas. Safe for use by many threads.

    addresses are URLs such as "https://ids.internal:8443", one or several. token is a bearer token, or a function that
    returns the one to use now. tls is for private authorities and client certificates. timeout is how many seconds a call
    may take, at all replicas together.
    """

    def __init__(self, space: str, addresses: str | Sequence[str], *, token: str | Callable[[], str] | None = None,
                 tls: ssl.SSLContext | None = None, timeout: float = 10.0) -> None:
        self._addresses = [addresses] if isinstance(addresses, str) else list(addresses)
        if not timeout > 0:
            raise ValueError("randflake: timeout: want more than 0 seconds")
        for address in self._addresses or [""]:
            if not re.fullmatch(r"https?://(\[[\w:.]+\]|[^][/?#@:\s]+)(:\d{1,5})?(/[^?#\s]*)?", address):
                raise ValueError("randflake: addresses: want https://ids.internal:8443 or several like it, without user")
        self._space = space
        self._timeout = timeout
        self._tls = tls
        self._token = (lambda: token) if isinstance(token, str) else token  # so that vars() does not show it
        self._turn = 0  # the replica that answered last
        self._process = ForkCheck()
        self._idle: dict[str, list[HTTPConnection]] = defaultdict(list)  # by address

    def _mint(self, count: int = 1) -> list[int]:
        """Has the service make 1 to 65,536 IDs. If the answer is lost, so are they."""
        return self._many("IDService/Mint", "ids", parse_id, count)[0]

    def next(self, counter: str, count: int = 1) -> Numbers:
        """Takes 1 to 65,536 numbers of a counter of the space. If the answer is lost, so are they."""
        return Numbers(*self._many("CounterService/Next", "numbers", int, count, counter=counter))

    def _many(self, method: str, name: str, kind: Callable[[Any], Any], count: int,
              **fields: Any) -> tuple[list[Any], str]:
        def read(answer: Any) -> tuple[list[Any], str]:
            check_range("length", len(answer[name]), count, count)
            return [kind(value) for value in answer[name]], answer.get("period", "")

        count = check_range("count", count, 1, 65536)
        return self._call(method, read, dict(fields, space=self._space, count=count))

    def _limits(self) -> _Limits:
        """Returns the limits of the space, for a Generator."""
        def read(answer: Any) -> _Limits:
            check_range("windowSeconds", answer["windowSeconds"], 1, 86_400)
            check_range("ahead", answer["ahead"], 1, 1 << 32)
            return _Limits(answer["windowSeconds"], answer["ahead"], answer.get("checkValue", ""))

        return self._call("LeaseService/GetLimits", read, {"space": self._space})

    def _take(self, window: int, nodes: int, start: int, end: int) -> int:
        """Takes nodes of the window from start to end, for a Generator, and returns the first one."""
        def read(answer: Any) -> int:
            [lease] = answer["leases"]
            check_range("start", int(lease["start"]), start, start)
            check_range("end", int(lease["end"]), end, end)
            first = lease.get("firstNode", 0)
            check_range("firstNode", first, 0, MAX_NODE + 1 - nodes)
            check_range("lastNode", lease.get("lastNode", 0), first + nodes - 1, first + nodes - 1)
            return first

        if not EPOCH <= start < end <= MAX_SECOND + 1:
            raise RandflakeError("out_of_range", f"no ID can have the time {start}: set the clock", "END_OF_LIFE")
        return self._call("LeaseService/Take", read, {"space": self._space, "window": window, "nodeCount": nodes,
                                                      "label": f"{socket.gethostname()} {os.getpid()}"})

    def _call(self, method: str, read: Callable[[Any], Any], fields: dict[str, Any]) -> Any:
        """Asks one replica after the other, the one that answered last first, each for its share of the time."""
        headers = _Headers({"Content-Type": "application/json", "Connect-Protocol-Version": "1"})
        if self._token:
            headers["Authorization"] = f"Bearer {self._token()}"
            if not re.fullmatch("Bearer [!-~]+", headers["Authorization"]):
                raise ValueError("randflake: token: want visible ASCII characters, without blanks")
        end = monotonic() + self._timeout
        turn = self._turn
        for left in range(len(self._addresses), 0, -1):
            address = self._addresses[turn % len(self._addresses)]
            now = monotonic()
            code, message, details = "unavailable", "no answer", {}
            try:
                status, text = self._post(address, method, json.dumps(fields), headers, now + (end - now) / left)
                message = f"status {status}"
                answer = json.loads(text)
                if status == 200:
                    result = read(answer)
                    self._turn = turn
                    return result
                message += f": {answer.get('message')}"
                if re.fullmatch("[a-z_]{1,30}", answer["code"]):
                    code = answer["code"]
                details = _details(answer)
            except Exception as error:  # there is no end to what may be wrong with an answer
                message += f": {type(error).__name__}: {error}"
            if code in FINAL:
                break
            turn += 1
        message = " ".join(message.replace(headers.get("Authorization", "Bearer \n")[7:], "[redacted]").split())
        raise RandflakeError(code, f"{method}: {message:.300}", **details)

    def _post(self, address: str, method: str, body: str, headers: _Headers, end: float) -> tuple[int, bytes]:
        """Makes one call, and returns the status and the text of its answer."""
        if not self._process.same():  # the connections are the parent's
            self._process = ForkCheck()
            self._idle = defaultdict(list)
        idle = self._idle[address]
        url = urlsplit(address)
        connection = self._connection(idle, url, end)
        connection.sock.settimeout(_left(end))
        connection.response_class = lambda sock, **more: HTTPResponse(_Answer(sock, end), **more)  # type: ignore
        connection.request("POST", f"{url.path.rstrip('/')}/randflake.v1.{method}", body, headers)
        response = connection.getresponse()
        answer = response.read(LONGEST_ANSWER)
        if not response.isclosed():
            raise ValueError(f"want a whole answer, of less than {LONGEST_ANSWER} bytes")
        idle.append(connection)
        return response.status, answer

    def _connection(self, idle: list[HTTPConnection], url: SplitResult, end: float) -> HTTPConnection:
        """Returns a connection that is open: an idle one, or a new one."""
        try:
            connection = idle.pop()
        except IndexError:
            https = url.scheme == "https"
            connection = HTTPSConnection(url.netloc, context=self._tls) if https else HTTPConnection(url.netloc)
        if connection.sock:
            with selectors.DefaultSelector() as selector:
                selector.register(connection.sock, selectors.EVENT_READ)
                if selector.select(0):  # the replica has closed it
                    connection.close()
        if not connection.sock:
            connection.timeout = _left(end) / 2  # for each IP address: one may be dead
            connection.connect()
        return connection


def _details(answer: Any) -> dict[str, Any]:
    """Returns what an error of the service says for programs."""
    for detail in answer.get("details", []):
        debug = detail.get("debug", {})
        if re.fullmatch("[A-Z_]{1,63}", debug.get("reason", "")):
            metadata = debug.get("metadata", {})
            until, limit = metadata.get("until"), metadata.get("limit")
            return {"reason": debug["reason"], "until": until and datetime.fromtimestamp(int(until), timezone.utc),
                    "limit": limit and int(limit)}
    return {}


def _left(end: float) -> float:
    """Returns the seconds until a time. Sockets take neither 0 nor less for a timeout."""
    left = end - monotonic()
    if left <= 0:
        raise TimeoutError("no time is left")
    return left


class _Answer(io.RawIOBase):
    """What a socket receives until a time, however slowly."""

    def __init__(self, sock: Any, end: float) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", 0)
        self._end = end

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_left(self._end) + 1e-3)
        return self._raw.readinto(buffer)


class _Headers(Dict[str, str]):
    __repr__ = object.__repr__  # it has the token
