"""A process that makes IDs under leases of randflaked. It notes each call as package journal does, and each ID."""

import json
import os
import signal
import struct
import sys
import threading
import time

from randflaked import GenerateError, Keeper, Service, Secret, ServiceError
from randflaked._service import Lost

env = os.environ


class Journal:
    def __init__(self, directory):
        os.mkdir(directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self.events, self.ids = (os.open(os.path.join(directory, name), flags) for name in ("events", "ids"))
        self.calls, self.lock = 0, threading.Lock()

    def note(self, kind, **fields):
        os.write(self.events, json.dumps({"at": time.monotonic_ns(), "kind": kind, **fields}).encode() + b"\n")

    def made(self, ids):
        os.write(self.ids, struct.pack(f"<{2 + len(ids)}q", time.monotonic_ns(), len(ids), *ids))

    def call(self, op, f, **fields):
        """Makes a call of the service, and notes its begin and its end."""
        with self.lock:
            self.calls += 1
            number = self.calls
        self.note("call", call=number, op=op, **fields)
        outcome, record = "unknown", {}
        try:
            answer = f()
            if not isinstance(answer, Lost):
                outcome, record = "ok", {"record": noted(answer)} if answer else {}
            elif not answer.unsure:
                outcome = "lost"
            return answer
        except ServiceError as error:
            outcome = "unknown" if error.unsure else "invalid"
            raise
        finally:
            self.note("return", call=number, op=op, outcome=outcome, **record)


def noted(record):
    numbers = {name: int(record.sent.get(name, 0)) for name in ("firstNode", "lastNode", "version", "start", "highWater",
                                                                "changed")}
    return {**numbers, "owner": record.owner, "change": record.change}


class Noted(Service):
    """Notes calls. The planted fault is that a lease lasts a second longer than the service says."""

    late = int(env.get("LATE", 0))

    def acquire(self, nodes, ttl, owner, check, timeout):
        record = journal.call("acquire", lambda: super(Noted, self).acquire(nodes, ttl, owner, check, timeout),
                              token=owner, nodes=nodes, ttl=ttl)
        return record._replace(high_water=record.high_water + self.late)

    def renew(self, held, ttl, token, timeout):
        record = journal.call("renew", lambda: super(Noted, self).renew(held, ttl, token, timeout),
                              held=noted(held), token=token, ttl=ttl)
        return record if isinstance(record, Lost) else record._replace(high_water=record.high_water + self.late)

    def lookup(self, held, timeout):
        return journal.call("lookup", lambda: super(Noted, self).lookup(held, timeout), held=noted(held))

    def release(self, held, last_used, timeout):
        return journal.call("release", lambda: super(Noted, self).release(held, last_used, timeout),
                            held=noted(held), lastUsed=last_used)


def work(keeper, count):
    refused = None
    while not stop.wait(0.005):
        try:
            journal.made(keeper.fill(count) if count > 1 else [keeper.generate()])
            refused = None
        except GenerateError as error:
            if refused is not type(error):
                refused = type(error)
                journal.note("note", text=f"refused: {error}")


stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
journal = Journal(env["JOURNAL"])
journal.note("start", worker=env["NAME"], pid=os.getpid())
service = Noted(env["ADDRESSES"].split(), "life", token=env["TOKEN"])
keeper = None
while not keeper and not stop.wait(0.1):
    try:
        keeper = Keeper(service, Secret.parse(env["SECRET"]), nodes=int(env["NODES"]), ttl=int(env["TTL"]))
    except ServiceError as error:
        print(error, file=sys.stderr)
if keeper:
    threads = [threading.Thread(target=work, args=[keeper, count]) for count in (1, 50)]
    for thread in threads:
        thread.start()
    while not stop.wait(1):
        pass
    for thread in threads:
        thread.join()
    keeper.close()
journal.note("stop")
