"""A process that makes IDs under leases of randflaked. It notes each call as package journal does, and each ID."""

import json
import os
import signal
import struct
import threading
import time

from randflaked import Generator, Secret, Service, ServiceError

env = os.environ


class Journal:
    def __init__(self, directory):
        os.mkdir(directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self.events, self.ids = (os.open(os.path.join(directory, name), flags) for name in ("events", "ids"))

    def note(self, kind, **fields):
        os.write(self.events, json.dumps({"at": time.monotonic_ns(), "kind": kind, **fields}).encode() + b"\n")

    def made(self, ids):
        os.write(self.ids, struct.pack(f"<{2 + len(ids)}q", time.monotonic_ns(), len(ids), *ids))


class Noted(Service):
    """Notes calls. The planted fault is that a lease lasts a second longer than the service says."""

    late, calls, sent = int(env.get("LATE", 0)), 0, None

    def acquire(self, nodes, ttl, owner, check, retry):
        self.calls += 1
        number, outcome, record = self.calls, "unknown", {}
        journal.note("call", call=number, op="acquire", token=owner, nodes=nodes, ttl=ttl)
        try:
            lease = super().acquire(nodes, ttl, owner, check, retry)
            outcome, record = "ok", {"record": self.sent}
            return lease._replace(high_water=lease.high_water + self.late)
        except ServiceError as error:
            outcome = "unknown" if error.unknown else "invalid"
            raise
        finally:
            journal.note("return", call=number, op="acquire", outcome=outcome, **record)

    def _call(self, method, read, **fields):
        def noted(answer):
            sent = answer["lease"]
            numbers = ("firstNode", "lastNode", "version", "start", "highWater", "changed")
            self.sent = {**{n: int(sent.get(n, 0)) for n in numbers}, "owner": sent["owner"], "change": sent["change"]}
            return read(answer)

        return super()._call(method, noted, **fields)


def work(generator, count):
    refused = None
    while not stop.wait(0.005):
        try:
            journal.made(generator.fill(count) if count > 1 else [generator.generate()])
            refused = None
        except ServiceError as error:
            if refused != error.code:
                refused = error.code
                journal.note("note", text=f"refused: lease has ended, and there is no other: {error}")


stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
journal = Journal(env["JOURNAL"])
journal.note("start", worker=env["NAME"], pid=os.getpid())
service = Noted(env["ADDRESSES"].split(), "life", token=env["TOKEN"])
generator = Generator(service, Secret.parse(env["SECRET"]), nodes=int(env["NODES"]), ttl=int(env["TTL"]))
threads = [threading.Thread(target=work, args=[generator, count]) for count in (1, 50)]
for thread in threads:
    thread.start()
while not stop.wait(1):
    pass
for thread in threads:
    thread.join()
journal.note("stop")
