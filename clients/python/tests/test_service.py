"""Over HTTP: what goes over the wire, failover between replicas, answers that get lost, late or mangled."""

import contextlib
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from randflaked import InvalidOptionError, Service, ServiceError
from randflaked._keeping import new_token
from randflaked._service import Lost, _record

from .fake import AFTER, LOST, FakeService, Replica

CHECK = "0123456789abcdef"
PATIENCE = 20.0


class Base(unittest.TestCase):
    def setUp(self):
        self.fake = FakeService(time.time)
        self.replicas = [Replica(self.fake), Replica(self.fake)]
        for replica in self.replicas:
            self.addCleanup(replica.close)
        self.service = Service([r.url for r in self.replicas], "demo", token="t0ken")

    def acquire(self, service=None, timeout=PATIENCE):
        return (service or self.service).acquire(2, 60, new_token(time.time()), CHECK, timeout)

    def refused(self, code, *args, unsure=None, **kwargs):
        with self.assertRaises(ServiceError) as caught:
            self.acquire(*args, **kwargs)
        self.assertEqual(caught.exception.code, code)
        self.assertIn(unsure, (None, caught.exception.unsure))
        self.assertNotIn("t0ken", repr(caught.exception))
        return str(caught.exception)


class Calls(Base):
    def test_life_of_a_lease(self):
        held = self.acquire()
        self.assertEqual(held.sent, self.fake.records[held.first_node].message())
        self.assertEqual(held.lease.end, held.start + 60)
        renewed = self.service.renew(held, 600, "a" * 32, PATIENCE)
        self.assertEqual((renewed.change, renewed.sent["version"]), ("a" * 32, "2"))
        self.assertGreater(renewed.high_water, held.high_water)
        self.assertEqual(self.service.lookup(held, PATIENCE), renewed)
        lost = self.service.renew(held, 60, "b" * 32, PATIENCE)
        self.assertEqual((lost, lost.spares(held.start - 1), lost.spares(held.start)),
                         (Lost(held.start, "another process renewed it", False), True, False))
        self.assertIsNone(self.service.release(renewed, renewed.start, PATIENCE))
        for outcome in (self.service.lookup(renewed, PATIENCE), self.service.release(renewed, 0, PATIENCE)):
            self.assertIsInstance(outcome, Lost)
        self.assertEqual(self.fake.records[held.first_node].high_water, held.start)

    def test_wire(self):
        seen = []
        self.replicas[0].answer = lambda path, message: seen.append((path, message))
        self.service.renew(self.acquire(), 300, "c" * 32, PATIENCE)
        (path, acquire), (_, renew) = seen
        self.assertEqual(path, "/randflake.v1.LeaseService/Acquire")
        self.assertRegex(acquire.pop("owner"), "^[0-9a-f]{32}$")
        self.assertEqual(acquire, {"space": "demo", "nodes": 2, "ttlSeconds": 60, "check": CHECK})
        held = renew.pop("held")
        self.assertEqual(renew, {"space": "demo", "ttlSeconds": 300, "token": "c" * 32})
        self.assertEqual({name: type(value) for name, value in held.items()}, {
            "firstNode": int, "lastNode": int, "owner": str, "change": str, "version": str, "start": str,
            "highWater": str, "changed": str, "signature": str})
        headers = self.replicas[0].headers[0]
        self.assertEqual([headers[h] for h in ("Content-Type", "Connect-Protocol-Version", "Authorization")],
                         ["application/json", "1", "Bearer t0ken"])

    def test_thin_way(self):
        self.assertEqual(self.service.mint(3), ["1", "2", "3"])
        self.assertEqual(self.service.next("orders"), [4])
        self.replicas[0].answer = self.replicas[1].answer = lambda *_: (200, b"{}")
        for call in (self.service.mint, lambda: self.service.next("orders")):
            self.assertRaises(ServiceError, call)

    def test_token_may_change(self):
        tokens = ["one", "two"]
        service = Service(self.replicas[0].url + "/", "demo", token=lambda: tokens.pop(0))
        self.acquire(service), self.acquire(service)
        self.assertEqual([h["Authorization"] for h in self.replicas[0].headers], ["Bearer one", "Bearer two"])
        for bad in ["with blank", "line\nbreak", "", "ünicode"]:
            with self.assertRaises(InvalidOptionError) as caught:
                self.acquire(Service(self.replicas[0].url, "demo", token=bad))
            self.assertNotIn(bad or "?", str(caught.exception))

    def test_options(self):
        for address in ["", "localhost:8080", "ftp://a", "https://", "https://user:secret@a", "https://a?b",
                        "https://a:port", []]:
            with self.assertRaises(InvalidOptionError) as caught:
                Service(address, "demo")
            self.assertNotIn("secret", str(caught.exception))


class Failover(Base):
    def test_replica_is_down(self):
        for fault in (lambda *_: (503, b"<html>"), lambda *_: (500, b'{"code":"internal"}'), self.hang_up,
                      lambda *_: (200, b"[")):
            self.replicas[self.service._turn % 2].answer = fault
            self.acquire()
            self.acquire()
            self.assertEqual(self.fake.count()["Acquire"], 2)  # the second one did not ask the replica that is down
            self.replicas[(self.service._turn + 1) % 2].answer = None
            self.fake.calls.clear()

    def hang_up(self, *_):
        raise ConnectionError

    def test_all_are_down(self):
        for replica in self.replicas:
            replica.answer = lambda *_: (502, b"")
        self.refused("unavailable", unsure=True)
        for replica in self.replicas:
            replica.close()
        self.refused("unavailable", unsure=False)

    def test_definite_refusals_ask_no_other(self):
        for status, code in [(400, "invalid_argument"), (429, "resource_exhausted"), (403, "permission_denied"),
                             (401, "unauthenticated")]:
            body = json.dumps({"code": code, "message": "for\na reason"}).encode()
            self.replicas[0].answer = lambda *_: (status, body)
            self.assertIn("for a reason", self.refused(code, unsure=False))
        self.replicas[0].answer = lambda *_: (401, b"go away")
        self.refused("unauthenticated")
        self.assertEqual(self.fake.calls, [])

    def test_slow_replicas(self):
        wait = threading.Event()
        self.addCleanup(wait.set)
        self.replicas[0].answer = lambda *_: wait.wait() and None
        for timeout in (1.0, 4.0, 16.0, 64.0):  # the other one has half of it, which may not do on a slow machine
            with contextlib.suppress(ServiceError):
                self.acquire(timeout=timeout)
                break
        else:
            self.fail("the other replica was not asked")
        self.replicas[1].answer = self.replicas[0].answer
        self.refused("unavailable", timeout=0.2)

    def test_answer_byte_by_byte(self):
        """Each byte comes in time, the answer never does."""
        listener, stop = socket.create_server(("127.0.0.1", 0)), threading.Event()
        self.addCleanup(listener.close)
        self.addCleanup(stop.set)

        def drip():
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                peer.sendall(b"HTTP/1.1 200 OK\r\nX-Fill: ")
                while not stop.wait(0.02):
                    peer.sendall(b"x")

        threading.Thread(target=drip, daemon=True).start()
        service = Service(f"http://127.0.0.1:{listener.getsockname()[1]}", "demo")
        self.assertRaises(ServiceError, self.acquire, service, timeout=0.3)

    def test_lost_answers_leave_one_lease_each(self):
        self.fake.cells = 200
        lose = iter(range(10**6))
        self.fake.fault = lambda _: AFTER if next(lose) % 2 == 0 else None
        held = [self.acquire() for _ in range(100)]
        self.assertEqual(len(self.fake.records), 100)
        self.assertEqual(len({r.first_node for r in held}), 100)

    def test_lost_answer_of_a_renewal_is_told(self):
        for fault in (AFTER, LOST):
            held = self.acquire()
            faults = [fault]
            self.fake.fault = lambda _: faults.pop() if faults else None
            outcome = self.service.renew(held, 60, "d" * 32, PATIENCE)
            if fault is AFTER:
                self.assertTrue(outcome.unsure)
                self.assertEqual(self.service.lookup(held, PATIENCE).change, "d" * 32)
            else:
                self.assertEqual(outcome.sent["version"], "2")


class Nonsense(Base):
    def test_answers_that_are_no_leases(self):
        good = {"firstNode": 0, "lastNode": 1, "owner": "OWNER", "change": "OWNER", "version": "1",
                "start": "1800000000", "highWater": "1800000059"}
        for wrong in [{"owner": "e" * 32}, {"lastNode": 2}, {"lastNode": 200000}, {"start": "5"},
                      {"highWater": "9999999999"}, {"highWater": "1799999999"}, {"highWater": "x"}]:
            def answer(_, message):
                return 200, json.dumps({"lease": {**good, **wrong}}).replace("OWNER", message["owner"]).encode()

            for replica in self.replicas:
                replica.answer = answer
            self.refused("internal", unsure=True)
        held = _record({**good, "owner": "a" * 32})
        for body in ["{}", '{"lease":[]}', '{"lost":[]}', '{"lost":{"others":"x"}}',
                     json.dumps({"lease": {**good, "firstNode": 1}})]:
            for replica in self.replicas:
                replica.answer = lambda *_: (200, body.encode())
            self.assertRaises(ServiceError, self.service.renew, held, 60, "b" * 32, PATIENCE)
        self.replicas[0].answer = lambda *_: (200, b'{"lost":{}}')
        self.replicas[1].answer = self.replicas[0].answer
        self.assertFalse(self.service.renew(held, 60, "b" * 32, PATIENCE).spares(0))  # unknown: stop at once


@unittest.skipUnless(shutil.which("openssl"), "openssl, which makes the certificates, is not installed")
class TLS(Base):
    def test_client_certificates(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        cert, key = pathlib.Path(directory.name, "cert.pem"), pathlib.Path(directory.name, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=test",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(cert))
        server.load_cert_chain(cert, key)
        server.verify_mode = ssl.CERT_REQUIRED
        replica = Replica(FakeService(time.time), server)
        self.addCleanup(replica.close)
        client = ssl.create_default_context(cafile=str(cert))
        for context in (None, client):
            with self.assertRaises(ServiceError):
                self.acquire(Service(replica.url, "demo", tls=context))
        client.load_cert_chain(cert, key)
        self.acquire(Service(replica.url, "demo", tls=client))
