"""The keeper with its thread, over HTTP, and across os.fork."""

import logging
import os
import pathlib
import re
import threading
import time
import unittest

import randflaked
from randflaked import (ClosedError, ExhaustedError, ForkedError, InvalidOptionError, Keeper, Service, Secret,
                       ServiceError)

from .fake import FakeService, Replica

QUIET = logging.Logger("test")
QUIET.addHandler(logging.NullHandler())


class Base(unittest.TestCase):
    def setUp(self):
        self.fake = FakeService(time.time)
        self.replica = Replica(self.fake)
        self.addCleanup(self.replica.close)
        self.secret = Secret.new()

    def keeper(self, **options):
        keeper = Keeper(Service(self.replica.url, "demo"), self.secret, **{"logger": QUIET, **options})
        self.addCleanup(keeper.close)
        return keeper

    def until(self, what):
        deadline = time.monotonic() + 60
        while not what():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def owners(self):
        return [r.owner for r in self.fake.records.values() if r.owner]


class TestKeeper(Base):
    def test_first_program(self):
        readme = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
        program = re.search("```python\n(.*?)```", readme, re.S)[1]
        os.environ["RANDFLAKE_SECRET"] = self.secret.hex()
        printed = []
        exec(program.replace("http://localhost:8080", self.replica.url), {"print": lambda *args: printed.append(args)})
        (text, fields), = printed
        self.assertEqual(randflaked.Cipher(self.secret).inspect(randflaked.parse(text)), fields)
        self.assertEqual(self.owners(), [])  # given back

    def test_many_threads_renewals_and_lost_leases(self):
        keeper, made, stop = self.keeper(ttl=3, nodes=4), [[] for _ in range(4)], threading.Event()

        def work(mine):
            while not stop.is_set():
                try:
                    mine.extend(keeper.fill(20))
                    mine.append(keeper.generate())
                except randflaked.GenerateError:
                    pass
                stop.wait(0.001)

        threads = [threading.Thread(target=work, args=[mine]) for mine in made]
        for t in threads:
            t.start()
        self.until(lambda: keeper.status().renewed >= 2)
        self.fake.take_away(keeper._keeping.held)
        self.until(lambda: keeper.status().replaced)
        stop.set()
        for t in threads:
            t.join()
        made = sum(made, [])
        self.assertGreater(len(made), 100)
        self.assertEqual(len(made), len(set(made)))

    def test_refusals(self):
        now = time.time()
        keeper = self.keeper(clock=lambda: now)  # on a slow machine a second may be over before its IDs are
        with self.assertRaises(ExhaustedError):
            keeper.fill(10**6)
        keeper.close()
        keeper.close()
        for call in (keeper.generate, lambda: keeper.fill(1)):
            self.assertRaises(ClosedError, call)
        self.assertEqual(self.owners(), [])
        self.assertFalse(keeper.status().healthy)

    def test_options(self):
        for options in [dict(nodes=0), dict(nodes=131073), dict(nodes=1.0), dict(ttl=2), dict(ttl=3.5)]:
            self.assertRaises(InvalidOptionError, self.keeper, **options)
        self.assertRaises(InvalidOptionError, Keeper, None, "secret")
        self.keeper()
        self.secret = Secret.new()
        with self.assertRaises(ServiceError) as caught:
            self.keeper()
        self.assertEqual(caught.exception.code, "failed_precondition")
        self.replica.close()
        with self.assertRaises(ServiceError):
            self.keeper()

    def test_close_while_the_service_hangs(self):
        wait = threading.Event()
        self.addCleanup(wait.set)
        keeper = self.keeper(ttl=3)
        self.replica.answer = lambda *_: wait.wait() and None
        with self.assertLogs(QUIET) as logs:
            keeper.close()
            self.until(lambda: not keeper._thread.is_alive())
        self.assertIn("runs out by itself", logs.output[-1])
        self.assertNotIn(self.secret.hex(), str(logs.output))


@unittest.skipUnless(hasattr(os, "fork"), "there is no os.fork here")
class TestFork(Base):
    def in_child(self, f):
        """Returns what f returns in a child, as text."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(write, repr(f()).encode())
            except BaseException as error:
                os.write(write, repr(error).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        os.waitpid(pid, 0)
        return said

    def test_child_has_a_lease_of_its_own(self):
        with self.keeper() as keeper:
            before, parents = keeper.fill(100) + [keeper.generate()], keeper._keeping.held.owner

            def child():
                with keeper:
                    inherited = keeper.status().healthy
                    return inherited, keeper.fill(50) + [keeper.generate() for _ in range(50)], keeper.status().healthy

            inherited, ids, own = eval(self.in_child(child))
            self.assertEqual((inherited, own), (False, True))
            after = keeper.fill(100)
            self.assertEqual(len(set(before + ids + after)), 301)
            self.assertEqual(self.owners(), [parents])  # the child gave back its own, and not its parent's
            self.assertEqual(len(self.fake.grants), 2)
            nodes, childs = ({f.node for f in keeper.cipher.inspect_all(of)} for of in (before + after, ids))
            self.assertTrue(nodes.isdisjoint(childs))

    def test_child_that_makes_none(self):
        with self.keeper() as keeper:
            self.assertEqual(self.in_child(keeper.close), "None")
            self.assertIn("ClosedError", self.in_child(lambda: (keeper.close(), keeper.generate())))
            self.assertEqual(len(self.owners()), 1)
            self.assertEqual(len(self.fake.grants), 1)
            self.fake.fault = lambda _: ServiceError("resource_exhausted", "none free")
            self.assertIn("resource_exhausted", self.in_child(keeper.generate))
            keeper.generate()

    def test_fork_while_threads_hold_every_lock(self):
        keeper = self.keeper()
        generator = keeper._keeping.generator
        with generator._lock, keeper._keeping.wake:
            self.assertEqual(len(eval(self.in_child(lambda: keeper.fill(3)))), 3)
            self.assertEqual(self.in_child(keeper.close), "None")
            for call in (generator.generate, lambda: generator.fill(1), generator.check_ready):
                self.assertIn(ForkedError.__name__, self.in_child(call))
