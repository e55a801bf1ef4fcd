"""What a driver can't show; the rest of the tests is in lab/clients."""

import _thread
import asyncio
import copy
import itertools
import pickle
import pprint
import time
import traceback
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from randflaked import (AsyncGenerator, Generator, LeasedGenerator, Limits, Minter, Secret, Service, ServiceError, parse,
                        to_text)

HEX, TOKEN = "dffd6021bb2bd5b0af676290809ec3a5", "t0ken"


class Leases(Service):
    def limits(self):
        return Limits(3600, 5, "")

    def take(self, *args):
        return 0


class Client(unittest.TestCase):
    def setUp(self):
        self.secret = Secret.parse(HEX)
        self.service = Leases("http://127.0.0.1:1", "demo", token=TOKEN)
        self.generator = Generator(self.service, self.secret)

    def test_secrets_are_not_shown(self):
        with self.assertRaises(ServiceError) as caught:
            self.service.next("invoices")
        shown = "".join(traceback.TracebackException.from_exception(caught.exception, capture_locals=True).format())
        for thing in (self.secret, self.service, self.generator):
            shown += f"{thing} {thing!r}" + pprint.pformat(getattr(thing, "__dict__", ""))
        self.assertNotRegex(shown, f"{TOKEN}|{HEX[:8]}|{self.secret._key!r}")
        self.assertRaises(TypeError, vars, self.secret)

    def test_no_time_left(self):
        hurried = Service("http://127.0.0.1:1", "demo", timeout=1e-9)  # as after a pause of the process
        self.assertRaisesRegex(ServiceError, "no answer: TimeoutError", hurried.next, "invoices")

    def test_no_copies(self):
        for thing in (self.secret, self.service, self.generator, Minter(self.service)):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                self.assertRaisesRegex(TypeError, "make one in each process", way, thing)

    def test_an_exception_once_a_call_has_begun(self):
        nodes = itertools.count()

        def take(*args):
            time.sleep(0.05)
            return next(nodes)

        def begin(*args):
            start(*args)
            raise KeyboardInterrupt

        def make(wait):
            time.sleep(wait)
            return [time.sleep(0.005) or self.generator.fill(1)[0] for _ in range(40)]

        start, self.service.take = _thread.start_new_thread, take
        with mock.patch("_thread.start_new_thread", begin), self.assertRaises(KeyboardInterrupt):
            self.generator.generate()
        with ThreadPoolExecutor() as pool:
            self.assertEqual(len(set(sum(pool.map(make, [0, 0.06]), []))), 80)

    def test_asyncio(self):
        async def make():
            return await asyncio.gather(*(AsyncGenerator(self.generator).generate() for _ in range(2000)))

        self.assertEqual(len(set(asyncio.run(make()))), 2000)

    def test_lease_by_hand(self):
        second = int(time.time())
        generator = LeasedGenerator(7, second, second + 60, self.secret)
        with mock.patch("randflaked._generator.time", lambda: clock):
            for clock, want in ((second, [(0, 0), (0, 1)]), (second + 59.9, [(59, 0)]), (second, [(59, 1)])):
                for after, sequence in want:
                    self.assertEqual(self.secret.inspect(generator.generate()), (second + after, 7, sequence))
            for clock in (second - 1, second + 60):
                self.assertRaisesRegex(ValueError, "want a lease", generator.generate)
        with mock.patch("os.getpid", lambda: 1):
            self.assertRaisesRegex(ValueError, "the parent's", generator.generate)
        for bad in ((1 << 17, second, second + 1), (1, 1_729_999_999, second), (1, second, second)):
            self.assertRaises(ValueError, LeasedGenerator, *bad, self.secret)

    def test_integers_of_other_types(self):
        class Int64:  # as numpy's: it has no // that fits, and no arithmetic beyond 64 bits
            def __index__(self):
                return 4594531474933654033

        self.assertEqual(to_text(Int64()), "jvgoe12ccb8gh")
        self.assertEqual(self.secret.inspect(Int64()), self.secret.inspect(4594531474933654033))

    def test_typed_ids(self):
        for id, digits in ((0, "g000000000000"), (-1, "vvvvvvvvvvvvv"), (4594531474933654033, "jvgoe12ccb8gh")):
            self.assertEqual(to_text(id, "ord"), "ord_" + digits)
            self.assertEqual(parse("ord_" + digits, "ord"), id)
        others = [prefix + "jvgoe12ccb8gh" for prefix in ("", "_", "ord", "ORD_", "cus_", "ord_line_", "ord__", " ord_")]
        for bad in (*others, "", "ord", "ord_", "ord_10", "ord_jvgoe12ccb8gh\n", 10, None):
            self.assertRaises(ValueError, parse, bad, "ord")
        for unsigned, text in (
            (1 << 63, "o000000000000"),
            ((1 << 64) - 1, "vvvvvvvvvvvvv"),
            (12694918095490295742, "r0bb8nt7619tu"),
        ):
            self.assertEqual(to_text(unsigned), text)
            self.assertEqual(self.secret.inspect(unsigned), self.secret.inspect(unsigned - (1 << 64)))
            self.assertEqual(parse(text), unsigned - (1 << 64))
        for outside in (1 << 64, (-1 << 63) - 1, 5.0, "5"):
            self.assertRaises(ValueError, to_text, outside)
            self.assertRaises(ValueError, self.secret.inspect, outside)
        for bad in ("_", "a_", "9", "A", "a-b", "a" * 64, "a\n"):
            self.assertRaises(ValueError, to_text, 1, bad)
            self.assertRaises(ValueError, parse, bad + "_jvgoe12ccb8gh", bad)
