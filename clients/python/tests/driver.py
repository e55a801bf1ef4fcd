"""The driver of clients/README.md: makes IDs as the lines on standard input say, for go test ./clients/conformance."""

import copy
import ctypes
import os
import pickle
import sys
import threading
import time
from typing import Any, Callable, Iterable, List

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import randflaked
from randflaked import _generator, _minter, _process, _service, _stock

env, FAULT = os.environ, os.environ.get("FAULT")
ahead = {"clock": 0.0, "age": 0.0}
_generator.time = lambda: time.time() + ahead["clock"]
for module in (_generator, _minter, _stock):
    module.monotonic = lambda: time.monotonic() + ahead["age"]


class Faulty(randflaked.Service):
    """Plants faults in leases."""

    def acquire(self, nodes: int, ttl: int, *rest: Any) -> randflaked.Lease:
        lease = super().acquire(nodes, ttl, *rest)
        if FAULT == "end":
            return lease._replace(high_water=lease.high_water + 100_000)
        if FAULT == "clamp":
            return lease._replace(start=lease.start - 100_000, high_water=lease.high_water + 100_000)
        return lease


if FAULT == "fork":
    _process.Mark.kept = lambda self: True
if FAULT == "end":
    _generator._Leased.fetch = (lambda fetch: lambda self: (fetch(self), setattr(self, "ttl", 100_000)))(
        _generator._Leased.fetch)

def begin() -> None:
    global generator, minter, secret, service
    addresses = env["ADDRESSES"].split(",")[:1 if FAULT == "failover" else None]
    secret = randflaked.Secret.parse(env["SECRET"])
    service = Faulty(addresses, env["SPACE"], token=env.get("TOKEN") or None, timeout=float(env.get("LIMIT") or 10))
    generator = randflaked.Generator(service, secret, nodes=int(env["NODES"]), ttl=int(env["TTL"]))
    minter = randflaked.Minter(service)


def generate(n: int) -> List[int]:
    return [generator.generate() for _ in range(n)]


def threads(k: int, n: int) -> List[int]:
    ids: List[int] = []
    errors: List[Exception] = []

    def work() -> None:
        try:
            for _ in range(n):
                ids.append(generator.generate())
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(k)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return ids


def fork(kind: str, n: int) -> List[int]:
    out, into = os.pipe()
    child = os.fork() if kind == "os" else ctypes.PyDLL(None).fork()  # as uWSGI does, with the lock of the interpreter
    if child == 0:
        try:
            said = "ids" + words(generate(n))
        except randflaked.RandflakeError as error:
            said = f"error {error.code} {error}"
        with open(into, "w") as file:
            file.write(said)
        os._exit(0)
    os.close(into)
    with open(out) as file:
        said = file.read()
    os.waitpid(child, 0)
    if not said.startswith("ids"):
        raise randflaked.ServiceError(*said.split(" ", 2)[1:])
    return [int(id) for id in said.split()[1:]] + generate(n)


def copies() -> str:
    for thing in (generator, secret):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            try:
                way(thing)
                return "ok"
            except TypeError as error:
                said = str(error)
    return "error copy " + said


def words(values: Iterable[Any]) -> str:
    return "".join(f" {value}" for value in values)


def text(form: Callable[[str], str], value: str) -> str:
    return form(value[::-1] if FAULT == "text" else value)


def ask(command: str, *args: str) -> str:
    if command == "generate":
        return "ids" + words(generate(int(args[0])))
    if command == "fill":
        return "ids" + words(generator.fill(int(args[0])))
    if command == "threads":
        return "ids" + words(threads(int(args[0]), int(args[1])))
    if command == "fork":
        return "ids" + words(fork(args[0], int(args[1])))
    if command == "copy":
        return copies()
    if command == "mint":
        return "ids" + words(map(randflaked.parse, minter.mint(int(args[0]))))
    if command == "next":
        return "numbers" + words(service.next(args[0], int(args[1])))
    if command == "format":
        return text("text {}".format, randflaked.to_text(int(args[0])))
    if command == "parse":
        return text(lambda digits: f"id {randflaked.parse(digits)}", args[0] if args else "")
    if command == "inspect":
        return "fields" + words(generator.cipher.inspect(int(args[0])))
    if command == "compose":
        return f"id {generator.cipher.compose(randflaked.Fields(*map(int, args)))}"
    if command == "secret":
        return "check " + randflaked.Secret.parse(args[0] if args else "").check_value()
    if command in ahead:
        ahead[command] = float(args[0])
        return "ok"
    return "unsupported"


out = open(1, "w", closefd=False)  # sys.stdout loses part of a long line if it is unbuffered and the process is stopped
for line in iter(sys.stdin.readline, ""):
    try:
        if "minter" not in globals():
            begin()
        command, *args = line.rstrip("\n").split(" ")
        answer = ask(command, *args)
    except randflaked.RandflakeError as error:
        answer = f"error {error.code} {error}"
    except (ValueError, TypeError) as error:
        answer = f"error invalid_argument {error}"
    print(answer, file=out, flush=True)
