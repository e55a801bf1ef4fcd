"""randflaked, as far as a client can tell: each Acquire of a new owner gets the next nodes. plan may spoil calls."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from randflaked import Lease, Service, to_text


class Leases(Service):
    """Grants leases without a network. fails are the errors of the next calls."""

    def __init__(self, seconds=600):
        super().__init__("http://127.0.0.1:1", "demo")
        self.calls, self.fails, self.granted, self.seconds = [], [], {}, seconds

    def acquire(self, nodes, ttl, owner, check, retry):
        self.calls.append((owner, retry))
        fail = self.fails.pop() if self.fails else None
        now = int(time.time())
        lease = self.granted.setdefault(owner, Lease(8 * len(self.granted), 8 * len(self.granted) + nodes - 1, now,
                                                     now + self.seconds - 1))
        if fail:
            raise fail
        return lease


class Replica:
    """Serves over HTTP. plan, if set, gets handler and request, and returns (status, body), or None to hang up."""

    def __init__(self, tls=None):
        self.plan, self.requests, self.connections, self.number = None, [], 0, 0
        replica = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                replica.connections += 1

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                replica.requests.append((self.path, request, dict(self.headers)))
                answer = (replica.plan or replica.answer)(self, request)
                self.close_connection = answer is None
                if answer:
                    self.send_response(answer[0])
                    self.send_header("Location", "/elsewhere")
                    self.send_header("Content-Length", str(len(answer[1])))
                    self.end_headers()
                    self.wfile.write(answer[1])

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads, self.server.handle_error = True, lambda *_: None  # clients that hung up
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True).start()

    def answer(self, handler, request):
        self.number += request.get("count", 0)
        numbers = range(self.number - request.get("count", 0), self.number)
        lease = {"firstNode": 7, "lastNode": 6 + request.get("nodes", 0), "owner": request.get("owner"),
                 "start": "1800000000", "highWater": "1800000299", "of a later version": [1]}
        return 200, json.dumps({"lease": lease, "ids": [to_text(n) for n in numbers],
                                "numbers": [str(n) for n in numbers]}).encode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
