import asyncio
import copy
import ctypes
import os
import pickle
import struct
import threading
import time
import unittest
from unittest import mock

from randflaked import (AsyncGenerator, Generator, InvalidArgumentError, Minter, Secret, Service, ServiceError,
                        _generator, _minter, _stock)
from randflaked._process import Mark

from .fake import Leases, Replica


class Clocked(unittest.TestCase):
    """Has clocks that are ahead."""

    def setUp(self):
        self.clock = self.age = 0.0
        for module in (_generator, _minter, _stock):
            self.patch(module, "monotonic", lambda: time.monotonic() + self.age)
        self.patch(_generator, "time", lambda: time.time() + self.clock)
        self.leases = Leases()
        self.generator = Generator(self.leases, Secret.new(), nodes=2, ttl=300)

    def patch(self, *what):
        patcher = mock.patch.object(*what)
        patcher.start()
        self.addCleanup(patcher.stop)

    def calls(self, count):
        """Waits for the end of so many calls."""
        end = time.monotonic() + 20
        while time.monotonic() < end and (len(self.leases.calls) < count or self.generator._stock.call):
            time.sleep(0.002)
        self.assertEqual(len(self.leases.calls), count)

    def fields(self):
        return self.generator.cipher.inspect(self.generator.generate())


class Rule(Clocked):
    def test_all_of_a_lease_and_the_next_one(self):
        self.leases.seconds = 2
        ids = [self.generator.generate() for _ in range(1000)] + self.generator.fill((2 << 18) - 2000)
        ids += [self.generator.generate() for _ in range(1500)]
        self.assertEqual(len(set(ids)), len(ids))
        fields = self.generator.cipher.inspect_all(ids)
        self.assertEqual({f.node for f in fields[:1000]}, {0})
        self.assertLessEqual({f.node for f in fields}, {0, 1, 8, 9})
        for f in fields:
            self.assertIn(f.second - self.leases.granted[self.leases.calls[f.node // 8][0]].start, (0, 1))

    def test_clock(self):
        lease_start = self.fields().second
        for self.clock, second in [(3600, lease_start + 599), (-3600, lease_start + 599), (0, lease_start + 599)]:
            self.assertEqual({self.fields().second for _ in range(20)}, {second})
        self.assertEqual(len(self.leases.calls), 1)

    def test_next_lease_in_the_background(self):
        self.assertEqual(self.fields().node, 0)
        self.age = 190
        self.assertEqual(self.fields().node, 0)
        self.calls(1)
        self.age = 201
        self.fields()
        self.calls(2)
        self.assertEqual((self.fields().node, self.leases.calls[1][1]), (8, False))

    def test_outage(self):
        self.fields()
        down = ServiceError("unavailable", "down")
        self.leases.fails = [down] * 4
        with self.assertLogs("randflaked", "WARNING"):
            for calls, self.age in [(2, 200), (2, 200.5), (3, 201.1), (3, 202.9), (4, 203.2)]:
                self.assertEqual(self.fields().node, 0)
                self.calls(calls)
        self.assertEqual([retry for _, retry in self.leases.calls], [False, False, True, True])
        self.age = 301
        with self.assertRaises(ServiceError) as caught:
            self.generator.generate()
        self.assertEqual(caught.exception.code, "unavailable")
        self.generator.fill(3)
        self.assertEqual(len({owner for owner, _ in self.leases.calls}), 3)  # the second one was older than a minute

    def test_final_errors_take_another_token(self):
        for code, same in [("resource_exhausted", False), ("aborted", True)]:
            self.leases.fails = [ServiceError(code, "no")]
            self.assertRaises(ServiceError, self.generator.generate)
            self.generator.generate()
            (first, _), (second, retry) = self.leases.calls[-2:]
            self.assertEqual((first == second, retry), (same, same))
            self.generator = Generator(self.leases, Secret.new())

    def test_arguments(self):
        for count in (0, -1, 1.0, "1", None, 300 << 18 | 1):
            self.assertRaises(InvalidArgumentError, self.generator.fill, count)
        self.assertEqual(self.leases.calls, [])
        for arguments in [dict(nodes=0), dict(nodes=(1 << 17) + 1), dict(ttl=0), dict(ttl=1.5), dict(secret="x")]:
            arguments = {"service": self.leases, "secret": Secret.new(), **arguments}
            self.assertRaises(InvalidArgumentError, Generator, **arguments)

    def test_asyncio(self):
        async def run():
            ids = AsyncGenerator(self.generator)
            made = await asyncio.gather(*(ids.generate() for _ in range(100)))
            return made + await ids.fill(100)

        self.assertEqual((len(set(asyncio.run(run()))), len(self.leases.calls)), (200, 1))

    def test_no_copies(self):
        self.generator.generate()
        for thing in (self.generator, self.leases, Minter(self.leases), self.generator.cipher):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "make another one"):
                    way(thing)


@unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
class Forks(Clocked):
    def fork(self, fork, work):
        """Returns what work, in a child, gives back as 64-bit integers."""
        out, into = os.pipe()
        child = fork()
        if child == 0:
            try:
                made = work()
                os.write(into, struct.pack(f"<{len(made)}q", *made))
            finally:
                os._exit(0)
        os.close(into)
        with open(out, "rb") as file:
            told = file.read()
        os.waitpid(child, 0)
        return list(struct.unpack(f"<{len(told) // 8}q", told))

    def test_children_take_leases_of_their_own(self):
        for fork in (os.fork, ctypes.PyDLL(None).fork):
            self.generator.generate()
            lock = self.generator._stock.lock
            with lock, threading._active_limbo_lock:  # as a thread may have them that is gone in the child
                child = self.fork(fork, lambda: self.generator.fill(9) + [self.generator.generate() for _ in "123"])
            self.assertEqual(len(child), 12)
            self.assertEqual(len({*child, *(self.generator.generate() for _ in range(1000))}), 1012)

    def test_each_mark_tells(self):
        for name, value in [("_pid", os.getpid()), ("_page", b"\1")]:
            mark = Mark()
            self.assertTrue(mark.kept())

            def in_child():
                setattr(mark, name, os.getpid() if name == "_pid" else value)
                return [mark.kept()]

            if name == "_page" or not isinstance(mark._page, bytes):
                self.assertEqual(self.fork(ctypes.PyDLL(None).fork, in_child), [0])

    def test_connections_are_the_parents(self):
        replica = Replica()
        self.addCleanup(replica.close)
        service = Service(replica.url, "demo")
        service.next("n"), service.next("n")
        self.assertEqual(self.fork(os.fork, lambda: service.next("n") + service.next("n")), [2, 3])
        self.assertEqual((service.next("n"), replica.connections), ([4], 2))


class Mint(Clocked):
    def test_batches(self):
        replica = Replica()
        self.addCleanup(replica.close)
        minter = Minter(Service(replica.url, "demo"))
        ids = minter.mint() + minter.mint(382)
        self.assertEqual(len(replica.requests), 1)
        ids += minter.mint(1) + minter.mint(1000)
        self.assertEqual(len(set(ids)), 1384)
        self.assertEqual({request["count"] for _, request, _ in replica.requests}, {512})
        minted = replica.number
        self.age = 301
        self.assertGreaterEqual(int(minter.mint()[0], 32), minted)
        for count in (0, -1, "1"):
            self.assertRaises(InvalidArgumentError, minter.mint, count)
