"""The driver of lab/clients/driver_test.go: makes IDs as the lines on standard input say, for lab/clients."""

import copy
import ctypes
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

from randflaked import Fields, Generator, Minter, RandflakeError, Secret, Service, _generator, _process, format_id, parse_id

env, FAULT = os.environ, os.environ.get("FAULT")
ORDER = -1 if FAULT == "text" else 1  # of digits
ahead = {"clock": 0.0, "age": 0.0}
_generator.time = lambda: time.time() + ahead["clock"]
_generator.monotonic = lambda: time.monotonic() + ahead["age"]
if FAULT == "fork":
    _process.ForkCheck.same = lambda self: True


first_nodes, real = {}, []


class Faulty(Service):
    def _limits(self):
        real[:] = [super()._limits()]
        return real[0]._replace(window=4 * 10**9) if FAULT == "end" else real[0]

    def _take(self, window, nodes, start, end):
        if FAULT == "end":
            window = int(_generator.time()) // real[0].window
            start, end = window * real[0].window, (window + 1) * real[0].window
        first_node = super()._take(window, nodes, start, end)
        return first_nodes.setdefault(window, first_node) if FAULT == "late" else first_node


def begin():
    global generator, minter, secret, service
    addresses = env["ADDRESSES"].split(",")[:1 if FAULT == "failover" else None]
    secret = Secret.parse(env["SECRET"])
    service = Faulty(env["SPACE"], addresses, token=env.get("TOKEN") or None, timeout=float(env.get("LIMIT") or 10))
    generator = Generator(service, secret, nodes=int(env["NODES"]))
    minter = Minter(service)


def generate(n):
    return [generator.generate() for _ in range(int(n))]


def fork(kind, n):
    out, into = os.pipe()
    child = os.fork() if kind == "os" else ctypes.PyDLL(None).fork()  # as uWSGI does, with the lock of the interpreter
    if child == 0:
        os.write(into, answer("generate", n).encode())
        os._exit(0)
    os.close(into)
    with open(out) as file:
        said, *ids = file.read().split(" ")
    os.waitpid(child, 0)
    if said != "ids":
        raise RandflakeError(ids[0], " ".join(ids[4:]))
    return [*ids, *generate(n)]


def take(counter, n):
    numbers, period = service.next(counter, n)
    return [*numbers, "in", period]


def inspect(id):
    time, node, sequence = secret.inspect(id)
    return [int(time.timestamp()), node, sequence]


def compose(second, node, sequence):
    return secret.compose(Fields(datetime.fromtimestamp(second, timezone.utc), node, sequence))


COMMANDS = {  # with the first word of their answers
    "generate": ("ids", generate),
    "fill": ("ids", lambda n: generator.fill(int(n))),
    "threads": ("ids", lambda k, n: sum(ThreadPoolExecutor(int(k)).map(generate, [n] * int(k)), [])),
    "fork": ("ids", fork),
    "copy": ("copied", lambda: [pickle.dumps(secret), copy.copy(generator)]),
    "mint": ("ids", lambda n: minter.fill(int(n))),
    "next": ("numbers", lambda counter, n: take(counter, int(n))),
    "format": ("text", lambda id: [format_id(int(id))[::ORDER]]),
    "parse": ("id", lambda text="": [parse_id(text[::ORDER])]),
    "inspect": ("fields", lambda id: inspect(int(id))),
    "compose": ("id", lambda *fields: [compose(*map(int, fields))]),
    "secret": ("check", lambda text="": [Secret.parse(text).check_value()]),
    "clock": ("ok", lambda seconds: ahead.update(clock=float(seconds)) or []),
    "age": ("ok", lambda seconds: ahead.update(age=float(seconds)) or []),
}


def answer(command, *args):
    try:
        if "minter" not in globals():
            begin()
        word, run = COMMANDS.get(command, ("unsupported", lambda *args: []))
        return " ".join(map(str, [word, *run(*args)]))
    except RandflakeError as error:
        until = error.until and int(error.until.timestamp())
        return f"error {error.code} {error.reason or '-'} {until or '-'} {error.limit or '-'} {error}"
    except ValueError as error:
        return f"error invalid_argument - - - {error}"
    except TypeError as error:
        return f"error copy - - - {error}"


out = open(1, "w", closefd=False)  # sys.stdout loses part of a long line if it is unbuffered and the process is stopped
for line in iter(sys.stdin.readline, ""):
    print(answer(*line.rstrip("\n").split(" ")), file=out, flush=True)
