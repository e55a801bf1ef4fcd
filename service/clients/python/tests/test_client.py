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
from datetime import datetime, timezone
from unittest import mock

from randflaked import (AsyncGenerator, Fields, Generator, LeasedGenerator, Minter, RandflakeError, Secret, Service,
                        format_id, parse_id)
from randflaked._service import _Limits

HEX, TOKEN = "dffd6021bb2bd5b0af676290809ec3a5", "t0ken"


class Leases(Service):
    def _limits(self):
        return _Limits(3600, 5, "")

    def _take(self, *args):
        return 0


class Client(unittest.TestCase):
    def setUp(self):
        self.secret = Secret.parse(HEX)
        self.service = Leases("demo", "http://127.0.0.1:1", token=TOKEN)
        self.generator = Generator(self.service, self.secret)

    def test_secrets_are_not_shown(self):
        with self.assertRaises(RandflakeError) as caught:
            self.service.next("invoices")
        shown = "".join(traceback.TracebackException.from_exception(caught.exception, capture_locals=True).format())
        for thing in (self.secret, self.service, self.generator):
            shown += f"{thing} {thing!r}" + pprint.pformat(getattr(thing, "__dict__", ""))
        self.assertNotRegex(shown, f"{TOKEN}|{HEX[:8]}|{self.secret._key!r}")
        self.assertRaises(TypeError, vars, self.secret)

    def test_no_time_left(self):
        hurried = Service("demo", "http://127.0.0.1:1", timeout=1e-9)  # as after a pause of the process
        self.assertRaisesRegex(RandflakeError, "no answer: TimeoutError", hurried.next, "invoices")

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

        start, self.service._take = _thread.start_new_thread, take
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
                    fields = self.secret.inspect(generator.generate())
                    self.assertEqual(fields, (datetime.fromtimestamp(second + after, timezone.utc), 7, sequence))
                    self.assertEqual(self.secret.inspect(self.secret.compose(fields)), fields)
            for clock in (second - 1, second + 60):
                self.assertRaisesRegex(ValueError, "want a lease", generator.generate)
        with mock.patch("os.getpid", lambda: 1):
            self.assertRaisesRegex(ValueError, "the parent's", generator.generate)
        for bad in ((1 << 17, second, second + 1), (1, 1_729_999_999, second), (1, second, second)):
            self.assertRaises(ValueError, LeasedGenerator, *bad, self.secret)
        self.assertRaisesRegex(ValueError, "time zone", self.secret.compose, Fields(datetime(2026, 11, 30), 7, 0))

    def test_integers_of_other_types(self):
        class Int64:  # as numpy's: it has no // that fits, and no arithmetic beyond 64 bits
            def __index__(self):
                return 4594531474933654033

        self.assertEqual(format_id(Int64()), "jvgoe12ccb8gh")
        self.assertEqual(self.secret.inspect(Int64()), self.secret.inspect(4594531474933654033))

    def test_typed_ids(self):
        for id, digits in ((0, "g000000000000"), (-1, "vvvvvvvvvvvvv"), (4594531474933654033, "jvgoe12ccb8gh")):
            self.assertEqual(format_id(id, "ord"), "ord_" + digits)
            self.assertEqual(parse_id("ord_" + digits, "ord"), id)
        others = [prefix + "jvgoe12ccb8gh" for prefix in ("", "_", "ord", "ORD_", "cus_", "ord_line_", "ord__", " ord_")]
        for bad in (*others, "", "ord", "ord_", "ord_10", "ord_jvgoe12ccb8gh\n", 10, None):
            self.assertRaises(ValueError, parse_id, bad, "ord")
        for unsigned, text in (
            (1 << 63, "o000000000000"),
            ((1 << 64) - 1, "vvvvvvvvvvvvv"),
            (12694918095490295742, "r0bb8nt7619tu"),
        ):
            self.assertEqual(format_id(unsigned), text)
            self.assertEqual(self.secret.inspect(unsigned), self.secret.inspect(unsigned - (1 << 64)))
            self.assertEqual(parse_id(text), unsigned - (1 << 64))
        for outside in (1 << 64, (-1 << 63) - 1, 5.0, "5"):
            self.assertRaises(ValueError, format_id, outside)
            self.assertRaises(ValueError, self.secret.inspect, outside)
        for bad in ("_", "a_", "9", "A", "a-b", "a" * 64, "a\n"):
            self.assertRaises(ValueError, format_id, 1, bad)
            self.assertRaises(ValueError, parse_id, bad + "_jvgoe12ccb8gh", bad)
