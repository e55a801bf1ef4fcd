"""randflaked, as far as a client can tell: the rules of leases in memory, faults on demand, and HTTP before them."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from randflaked import ServiceError, to_text
from randflaked._service import Lost, _record

MAX_TTL, MAX_SKEW, CELL = 3600, 60, 4  # a cell of nodes has one lease at most

LOST, LATE, AFTER = "request lost", "request delayed", "answer lost"  # faults


class Row(NamedTuple):
    """What the service keeps of a range of nodes."""

    first_node: int
    last_node: int
    owner: str
    change: str
    version: int
    start: int
    high_water: int
    changed: int

    def message(self):
        return {"firstNode": self.first_node, "lastNode": self.last_node, "owner": self.owner, "change": self.change,
                "version": str(self.version), "start": str(self.start), "highWater": str(self.high_water),
                "changed": str(self.changed), "signature": f"of {self.version}"}


def row(message):
    """Reads a lease that a client sent back, all of it."""
    assert message["signature"] == f"of {message['version']}", message
    return Row(*(int(v) if v.isdigit() and len(v) < 32 else v for v in (str(message[name]) for name in (
        "firstNode", "lastNode", "owner", "change", "version", "start", "highWater", "changed"))))


class FakeService:
    """Has the methods of LeaseService. fault is asked before each call, and returns a fault, an error or None."""

    def __init__(self, clock, cells=8):
        self.clock, self.cells = clock, cells
        self.records, self.grants, self.calls = {}, {}, []
        self.floor, self.check, self.next = 0, None, 1
        self.fault = lambda method: None
        self.delayed = []
        self.lock = threading.Lock()

    def acquire(self, nodes, ttl, owner, check, timeout=0):
        return self._call("Acquire", self._acquire, nodes, ttl, owner, check)

    def renew(self, held, ttl, token, timeout=0):
        return self._call("Renew", self._renew, held, ttl, token)

    def lookup(self, held, timeout=0):
        return self._call("Lookup", self._lookup, held)

    def release(self, held, last_used, timeout=0):
        return self._call("Release", self._release, held, last_used)

    def _call(self, method, handler, *args):
        with self.lock:
            self.calls.append(method)
            fault = self.fault(method)
            if fault is None:
                return told(handler(*args))
            if isinstance(fault, Exception):
                raise fault
            if fault is AFTER:
                handler(*args)
            elif fault is LATE:
                self.delayed.append(lambda: handler(*args))
            raise ServiceError("unavailable", fault, True)

    def arrive(self):
        """Lets delayed requests take effect."""
        with self.lock:
            arrived, self.delayed = self.delayed, []
            for request in arrived:
                try:
                    request()
                except ServiceError:
                    pass

    def count(self):
        return Counter(self.calls)

    def now(self):
        return int(self.clock())

    def _put(self, record):
        self.records[record.first_node] = record
        if record.owner:
            self.grants.setdefault(record.owner, []).append(record)
        return record

    def _acquire(self, nodes, ttl, owner, check):
        now = self.now()
        self.check = self.check or check
        if check != self.check:
            raise ServiceError("failed_precondition", "wrong secret")
        if abs(now - int(owner[:12], 16)) > 120 + MAX_SKEW or not 1 <= nodes <= CELL or not 1 <= ttl <= MAX_TTL:
            raise ServiceError("invalid_argument", "invalid request")
        for record in self.records.values():
            if record.owner == owner == record.change:
                return record
        if owner in self.grants:
            raise ServiceError("invalid_argument", "a token serves for one lease")
        none = Row(0, 0, "", "", 0, 0, -1, 0)
        old = [self.records.get(first, none._replace(first_node=first)) for first in range(0, self.cells * CELL, CELL)]
        free = [r for r in old if r.high_water < now or not r.owner and r.high_water < now + MAX_TTL]
        if not free or self.floor >= now + MAX_TTL:
            raise ServiceError("resource_exhausted", "no free range of nodes")
        best = min(free, key=lambda r: r.high_water)
        start = max(now, best.high_water + 1, self.floor)
        return self._put(Row(best.first_node, best.first_node + nodes - 1, owner, owner, best.version + 1,
                                start, start + ttl - 1, now))

    def _current(self, held):
        return self.records.get(held.first_node, Row(held.first_node, held.last_node, "", "", 0, 0, -1, 0))

    def _renew(self, held, ttl, token):
        held = row(held.sent)
        now, current = self.now(), self._current(held)
        if held.start < self.floor and current.version <= held.version:
            return Lost(self.floor, "it is older than a loss of data", False)
        if not held.owner or current.owner != held.owner:
            return Lost(current.start, "somebody else holds it, or nobody", False)
        if (current.version, current.change) != (held.version, held.change):
            return Lost(current.start, "another process renewed it", False)
        if now > current.high_water + MAX_TTL + MAX_SKEW:
            return Lost(current.high_water + 1, "it ended long ago", False)
        return self._put(current._replace(version=current.version + 1, change=token, changed=now,
                                          high_water=max(current.high_water, now + ttl - 1)))

    def _lookup(self, held):
        current = self._current(held)
        if current.owner != held.owner:
            return Lost(current.start, "somebody else holds it, or nobody", False)
        return current

    def _release(self, held, last_used):
        current, held = self._current(held), row(held.sent)
        if (current.owner, current.version, current.change) != (held.owner, held.version, held.change):
            return Lost(current.start, "its record has changed", False)
        self._put(current._replace(owner="", version=current.version + 1, changed=self.now(),
                                   high_water=min(current.high_water, max(last_used, current.start - 1))))
        return None

    def take_away(self, held):
        """Releases a lease as an operator would, so that others can have its nodes."""
        with self.lock:
            current = self._current(held)
            self._release(told(current), current.high_water)


def told(outcome):
    """Returns what a client makes of an outcome."""
    return _record(outcome.message()) if isinstance(outcome, Row) else outcome


class Replica:
    """Serves a FakeService over HTTP. answer, if set, may return (status, body) in its place, or raise to hang up."""

    def __init__(self, service, tls=None):
        self.service, self.answer, self.headers = service, None, []
        replica = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                replica.headers.append(dict(self.headers))
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    status, body = replica.reply(self.path, message)
                except ConnectionError:
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients that hung up
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True).start()

    def reply(self, path, message):
        if self.answer:
            answer = self.answer(path, message)
            if answer:
                return answer
        try:
            return 200, json.dumps(self.handle(path.rsplit("/", 1)[1], message)).encode()
        except ServiceError as error:
            if error.unsure:
                raise ConnectionError from None
            return 400, json.dumps({"code": error.code, "message": error.message}).encode()

    def handle(self, method, message):
        if method == "Next":
            self.service.next += message["count"]
            return {"numbers": [str(n) for n in range(self.service.next - message["count"], self.service.next)]}
        assert message["space"] == "demo", message
        if method == "Mint":
            self.service.next += message["count"]
            return {"ids": [to_text(n) for n in range(self.service.next - message["count"], self.service.next)]}
        if method == "Acquire":
            wanted = (message[name] for name in ("nodes", "ttlSeconds", "owner", "check"))
            return {"lease": self.service.acquire(*wanted).sent}
        held = _record(message["held"])
        if method == "Renew":
            outcome = self.service.renew(held, message["ttlSeconds"], message["token"])
        elif method == "Lookup":
            outcome = self.service.lookup(held)
        else:
            outcome = self.service.release(held, int(message["lastUsed"]))
        if hasattr(outcome, "sent"):
            return {"lease": outcome.sent}
        return {"lost": {"others": str(outcome.others), "why": outcome.why}} if outcome else {}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
