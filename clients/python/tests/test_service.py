"""Over HTTP: what goes over the wire, failover between replicas, answers that are lost, late or mangled."""

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
import traceback
import unittest

from randflaked import InvalidArgumentError, Service, ServiceError

from .fake import Replica

OWNER = "a" * 32


class Base(unittest.TestCase):
    def setUp(self):
        self.replicas = [Replica(), Replica()]
        for replica in self.replicas:
            self.addCleanup(replica.close)
        self.service = Service([r.url for r in self.replicas], "demo", token="t0ken")

    def acquire(self, service=None, ttl=60):
        return (service or self.service).acquire(2, ttl, OWNER, "c" * 16, False)

    def refused(self, code, call=None):
        with self.assertRaises(ServiceError) as caught:
            (call or self.acquire)()
        error = caught.exception
        self.assertEqual(error.code, code, error)
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
        self.assertNotIn("t0ken", shown)
        return str(error)


class Calls(Base):
    def test_wire(self):
        self.assertEqual(self.acquire(), (7, 8, 1_800_000_000, 1_800_000_299))
        path, request, headers = self.replicas[0].requests[0]
        self.assertEqual(path, "/randflake.v1.LeaseService/Acquire")
        self.assertEqual(request, {"space": "demo", "nodes": 2, "ttlSeconds": 60, "owner": OWNER, "check": "c" * 16,
                                   "retry": False})
        self.assertEqual([headers[h] for h in ("Content-Type", "Connect-Protocol-Version", "Authorization")],
                         ["application/json", "1", "Bearer t0ken"])
        self.assertEqual((self.service.mint(3), self.service.next("orders", 2)), (["0", "1", "2"], [3, 4]))
        self.assertEqual((self.replicas[0].connections, self.replicas[1].connections), (1, 0))
        for count in (0, -1, 65537, "1"):
            self.assertRaises(InvalidArgumentError, self.service.mint, count)

    def test_tokens(self):
        tokens = ["one", "two"]
        service = Service(self.replicas[0].url + "/", "demo", token=lambda: tokens.pop(0))
        self.acquire(service), self.acquire(service)
        self.assertEqual([r[2]["Authorization"] for r in self.replicas[0].requests], ["Bearer one", "Bearer two"])
        for bad in ["with blank", "line\nbreak", "ünicode", ""]:
            with self.assertRaises(InvalidArgumentError) as caught:
                self.acquire(Service(self.replicas[0].url, "demo", token=bad))
            self.assertNotIn(bad or "?", str(caught.exception))

    def test_addresses(self):
        for address in ["", "localhost:80", "ftp://a", "https://", "https://u:t0ken@a", "http://a?b", "http://a:b", []]:
            with self.assertRaises(InvalidArgumentError) as caught:
                Service(address, "demo")
            self.assertNotIn("t0ken", str(caught.exception))

    def test_lost_answer_on_a_kept_connection(self):
        self.acquire()
        self.replicas[0].plan = lambda *_: None
        self.acquire()  # at the other replica
        self.assertEqual([len(r.requests) for r in self.replicas], [2, 1])

    def test_kept_connection_that_was_closed_since(self):
        self.acquire()
        [connection] = self.service._replicas[0]._idle
        connection.sock.sock.shutdown(socket.SHUT_RD)  # as if the replica had closed it
        self.acquire()
        self.assertEqual([r.connections for r in self.replicas], [2, 0])


class Failover(Base):
    def test_answers_that_are_none(self):
        def changed(**lease):
            def plan(handler, request):
                answer = json.loads(Replica.answer(self.replicas[0], handler, request)[1])
                answer["lease"].update(lease)
                return 200, json.dumps(answer).encode()
            return plan

        for spoiled in [lambda *_: None, lambda *_: (503, b"<html>"), lambda *_: (500, b'{"code":"internal"}'),
                        lambda *_: (200, b"[" * 1_000_000), lambda *_: (200, b"[1]"), lambda *_: (307, b""),
                        lambda *_: (200, b" " * (5 << 20) + b"{}"), changed(owner="b" * 32), changed(lastNode=7),
                        changed(firstNode=131071, lastNode=131072), changed(start="5"), changed(highWater="1"),
                        changed(highWater=float("inf")), changed(highWater="9999999999"), changed(lastNode=None)]:
            turn = self.service._turn % 2
            self.replicas[turn].plan, self.replicas[1 - turn].plan = spoiled, None
            self.acquire()
            self.assertIs(self.replicas[1 - turn].requests[-1][1]["retry"], True)
            self.assertEqual(self.service._turn % 2, 1 - turn)
            self.replicas[1 - turn].plan = spoiled
            with self.assertRaises(ServiceError):
                self.acquire()

    def test_final_errors_ask_no_other(self):
        for code in ("invalid_argument", "resource_exhausted", "unauthenticated"):
            said = {"code": code, "message": "for\na reason, Bearer t0ken"}
            self.replicas[0].plan = lambda *_: (400, json.dumps(said).encode())
            self.assertIn("for a reason", self.refused(code))
        self.assertEqual(self.replicas[1].requests, [])

    def test_none_is_there(self):
        for replica in self.replicas:
            replica.plan = lambda *_: None
        self.refused("unavailable")
        self.refused("unavailable", lambda: Service("http://127.0.0.1:1", "demo").next("n"))

    def test_limits(self):
        """Each replica has its share of the time, also if each byte comes in time."""
        stop = threading.Event()
        self.addCleanup(stop.set)

        def drip(handler, _):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Fill: ")
            with contextlib.suppress(OSError):
                while not stop.wait(0.02):
                    handler.wfile.write(b"x")

        self.replicas[0].plan = self.replicas[1].plan = drip
        service = Service([r.url for r in self.replicas], "demo", timeout=0.6)
        begin = time.monotonic()
        self.refused("unavailable", lambda: service.mint())
        self.assertEqual([len(r.requests) for r in self.replicas], [1, 1])
        self.assertLess(time.monotonic() - begin, 20)


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
        replica = Replica(server)
        self.addCleanup(replica.close)
        client = ssl.create_default_context(cafile=str(cert))
        for context in (None, client):
            self.refused("unavailable", lambda: self.acquire(Service(replica.url, "demo", tls=context)))
        client.load_cert_chain(cert, key)
        service = Service(replica.url, "demo", tls=client)
        connections = replica.connections
        self.acquire(service), self.acquire(service)
        self.assertEqual(replica.connections, connections + 1)
