"""The driver of clients/README.md: makes IDs as the lines on standard input say, for go test ./clients/conformance."""

import copy
import ctypes
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import randflaked
from randflaked import Fields, Generator, Minter, Secret, Service, ServiceError, _generator, _process

env, FAULT = os.environ, os.environ.get("FAULT")
ahead = {"clock": 0.0, "age": 0.0}
_generator.time = lambda: time.time() + ahead["clock"]
_generator.monotonic = lambda: time.monotonic() + ahead["age"]
if FAULT == "fork":
    _process.Mark.kept = lambda self: True


class Faulty(Service):
    """Plants faults in leases."""

    def acquire(self, *args):
        lease = super().acquire(*args)
        if FAULT == "end":
            generator._ttl = 100_000
            return lease._replace(high_water=lease.high_water + 100_000)
        if FAULT == "clamp":
            return lease._replace(start=lease.start - 100_000, high_water=lease.high_water + 100_000)
        return lease


def begin():
    global generator, minter, secret, service
    addresses = env["ADDRESSES"].split(",")[:1 if FAULT == "failover" else None]
    secret = Secret.parse(env["SECRET"])
    service = Faulty(addresses, env["SPACE"], token=env.get("TOKEN") or None, timeout=float(env.get("LIMIT") or 10))
    generator = Generator(service, secret, nodes=int(env["NODES"]), ttl=int(env["TTL"]))
    minter = Minter(service)


def generate(n):
    return [generator.generate() for _ in range(int(n))]


def threads(k, n):
    with ThreadPoolExecutor(int(k)) as pool:
        return sum(pool.map(generate, [n] * int(k)), [])


def fork(kind, n):
    out, into = os.pipe()
    child = os.fork() if kind == "os" else ctypes.PyDLL(None).fork()  # as uWSGI does, with the lock of the interpreter
    if child == 0:
        with open(into, "w") as file:
            file.write(answer("generate", n))
        os._exit(0)
    os.close(into)
    with open(out) as file:
        said, *ids = file.read().split(" ")
    os.waitpid(child, 0)
    if said != "ids":
        raise ServiceError(ids[0], " ".join(ids[1:]))
    return [*ids, *generate(n)]


def copies():
    for thing in (generator, secret):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            try:
                way(thing)
                return "ok"
            except TypeError as error:
                said = str(error)
    return "error copy " + said


def digits(text):
    return text[::-1] if FAULT == "text" else text


def words(name, values):
    return " ".join(map(str, [name, *values]))


def set_ahead(clock, seconds):
    ahead[clock] = float(seconds)
    return "ok"


COMMANDS = {
    "generate": lambda n: words("ids", generate(n)),
    "fill": lambda n: words("ids", generator.fill(int(n))),
    "threads": lambda k, n: words("ids", threads(k, n)),
    "fork": lambda kind, n: words("ids", fork(kind, n)),
    "copy": copies,
    "mint": lambda n: words("ids", map(randflaked.parse, minter.mint(int(n)))),
    "next": lambda counter, n: words("numbers", service.next(counter, int(n))),
    "format": lambda id: "text " + digits(randflaked.to_text(int(id))),
    "parse": lambda text="": f"id {randflaked.parse(digits(text))}",
    "inspect": lambda id: words("fields", secret.inspect(int(id))),
    "compose": lambda *fields: f"id {secret.compose(Fields(*map(int, fields)))}",
    "secret": lambda text="": "check " + Secret.parse(text).check_value(),
    "clock": lambda seconds: set_ahead("clock", seconds),
    "age": lambda seconds: set_ahead("age", seconds),
}


def answer(command, *args):
    try:
        if "minter" not in globals():
            begin()
        return COMMANDS[command](*args) if command in COMMANDS else "unsupported"
    except ServiceError as error:
        return f"error {error.code} {error}"
    except ValueError as error:
        return f"error invalid_argument {error}"


out = open(1, "w", closefd=False)  # sys.stdout loses part of a long line if it is unbuffered and the process is stopped
for line in iter(sys.stdin.readline, ""):
    print(answer(*line.rstrip("\n").split(" ")), file=out, flush=True)
