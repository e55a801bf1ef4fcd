import struct
import threading
import time
import unittest

from randflaked import (EPOCH, MAX_NODE, MAX_SEQUENCE, MAX_TIMESTAMP, ClockBackwardError, ClosedError, EndOfLifeError,
                       ExhaustedError, Fields, GenerateError, Generator, InvalidLeaseError, Lease, LeaseEndedError,
                       LeaseNotStartedError, Secret)
from randflaked._id import pack

T = EPOCH + 10_000
PER_SECOND = MAX_SEQUENCE + 1


class Clock:
    def __init__(self, now=T):
        self.now = now

    def __call__(self):
        return self.now


def raws(generator, ids):
    """Opens many IDs, to raw values."""
    return list(struct.unpack(f"<{len(ids)}Q", generator.cipher._sparx.decrypt(struct.pack(f"<{len(ids)}q", *ids))))


def repeats(made):
    return len(made) - len(set(made))


class Published:
    """Allocates as the format's published Python implementation does: the sequence starts over when it has overflowed."""

    def __init__(self, lease, clock):
        self.node, self.rollover, self.sequence, self.clock = lease.first_node, lease.start, 0, clock

    def make(self, count):
        made = []
        for _ in range(count):
            now = self.clock()
            self.sequence += 1
            if self.sequence > MAX_SEQUENCE:
                if now <= self.rollover:
                    break
                self.rollover, self.sequence = now, 0
            made.append(now << 34 | self.node << 17 | self.sequence)
        return made


class Ours:
    def __init__(self, lease, clock):
        self.generator = Generator(Secret.new(), lease, clock=clock)

    def make(self, count):
        ids = []
        try:
            while len(ids) < count:
                ids += self.generator.fill(min(count - len(ids), 1000))
        except GenerateError:
            pass
        return raws(self.generator, ids)


def burst(allocator):
    """Asks for twice what one second holds, an hour after the lease began."""
    return allocator(Lease(7, 7, T - 3600, T + 10), Clock()).make(2 * PER_SECOND - 1)


def step_back(allocator):
    """Steps back by 3 seconds after the sequence of a second ran over."""
    clock = Clock(T - 3)
    it = allocator(Lease(7, 7, T - 3600, T + 10), clock)
    made = it.make(1000)
    clock.now = T
    made += it.make(PER_SECOND + 500)
    clock.now = T - 3
    return made + it.make(2000)


class AgainstPublished(unittest.TestCase):
    def test_burst(self):
        self.assertGreater(repeats(burst(Published)), 10_000)  # so the check finds them
        made = burst(Ours)
        self.assertEqual(repeats(made), 0)
        self.assertGreater(len(made), PER_SECOND - 1000)

    def test_step_back(self):
        self.assertGreater(repeats(step_back(Published)), 100)
        made = step_back(Ours)
        self.assertEqual(repeats(made), 0)
        self.assertGreater(len(made), PER_SECOND)


class TestGenerator(unittest.TestCase):
    def generator(self, lease, now=T):
        self.clock = Clock(now)
        return Generator(Secret.new(), lease, clock=self.clock)

    def fields(self, g):
        return g.cipher.inspect(g.generate())

    def test_whole_second_and_no_more(self):
        g = self.generator(Lease(3, 4, T, T + 2))
        made = [g.generate() for _ in range(600)]
        made += g.fill(2 * PER_SECOND - len(made) - 100 - len(g._batch))
        made += [g.generate() for _ in range(100 + len(g._batch))]
        first = pack(Fields(T, 3, 0))
        self.assertEqual(sorted(raws(g, made)), list(range(first, first + 2 * PER_SECOND)))
        for call in (g.generate, lambda: g.fill(1), g.check_ready):
            self.assertRaises(ExhaustedError, call)
        self.clock.now += 1
        self.assertEqual(self.fields(g), Fields(T + 1, 3, 0))

    def test_bounds_of_the_lease(self):
        g = self.generator(Lease(0, 0, T, T + 2), T - 1)
        self.assertRaises(LeaseNotStartedError, g.generate)
        for self.clock.now, second in [(T, T), (T + 1.999, T + 1)]:
            self.assertEqual(self.fields(g).second, second)
        for self.clock.now in (T + 2, T + 1000):
            self.assertRaises(LeaseEndedError, g.generate)
        g.extend(T + 1001)
        self.assertEqual(self.fields(g).second, T + 1000)
        self.assertEqual(g.close(), T + 1000)
        self.assertEqual(self.generator(Lease(0, 0, T, T + 2)).close(), T - 1)

    def test_batches_are_dropped_with_their_second(self):
        g = self.generator(Lease(0, 0, T, T + 2))
        [g.generate() for _ in range(10)]
        self.assertTrue(g._batch)
        self.clock.now = T + 2
        self.assertRaises(LeaseEndedError, g.generate)

    def test_clock_backward(self):
        g = self.generator(Lease(0, 0, T - 100, T + 2))
        made = [self.fields(g) for _ in range(20)]
        for self.clock.now in (T - 1, T - 10, T - 3, T):
            made += [self.fields(g) for _ in range(50)]
        self.assertEqual(repeats(made), 0)
        self.assertEqual({f.second for f in made}, {T})
        self.clock.now = T - 11
        for call in (g.generate, lambda: g.fill(1)):
            self.assertRaises(ClockBackwardError, call)
        self.clock.now = T
        self.assertRaises(ExhaustedError, g.fill, PER_SECOND)
        self.clock.now = T - 1
        g._batch.clear()
        self.assertRaises(ClockBackwardError, g.generate)

    def test_ends_of_the_format(self):
        g = self.generator(Lease(MAX_NODE, MAX_NODE, MAX_TIMESTAMP, MAX_TIMESTAMP + 1), MAX_TIMESTAMP)
        made = [*g.fill(PER_SECOND)]
        self.assertEqual(g.cipher.inspect(made[-1]), Fields(MAX_TIMESTAMP, MAX_NODE, MAX_SEQUENCE))
        self.assertRaises(ExhaustedError, g.generate)
        self.assertEqual(g._last_used(), MAX_TIMESTAMP)
        self.clock.now += 1
        self.assertRaises(EndOfLifeError, g.generate)
        for lease in [(0, 0, T, T), (1, 0, T, T + 1), (0, MAX_NODE + 1, T, T + 1), (-1, 0, T, T + 1),
                      (0, 0, EPOCH - 1, T), (0, 0, T, MAX_TIMESTAMP + 2)]:
            self.assertRaises(InvalidLeaseError, self.generator, Lease(*lease))

    def test_replace_freeze_close(self):
        g = self.generator(Lease(0, 3, T, T + 10))
        g.generate()
        self.assertRaises(InvalidLeaseError, g.replace, Lease(3, 5, T, T + 20))
        self.assertRaises(InvalidLeaseError, g.extend, T + 9)
        self.assertEqual(g.replace(Lease(4, 4, T, T + 20)), T)
        self.assertEqual(self.fields(g), Fields(T, 4, 0))
        g.generate()
        self.assertTrue(g._batch)  # which must not be handed out any more
        g.freeze()
        for call in (g.generate, g.check_ready, lambda: g.extend(T + 30)):
            self.assertRaises(LeaseEndedError, call)
        self.assertEqual(g.replace(Lease(4, 4, T + 1, T + 20)), T)
        self.assertRaises(LeaseNotStartedError, g.generate)
        self.clock.now += 5
        self.assertEqual(self.fields(g), Fields(T + 5, 4, 0))
        g.generate()
        for _ in range(2):
            self.assertEqual(g.close(), T + 5)
        g.freeze()
        for call in (g.generate, lambda: g.fill(1), g.check_ready, lambda: g.extend(T + 30),
                     lambda: g.replace(Lease(9, 9, T, T + 1))):
            self.assertRaises(ClosedError, call)

    def test_many_threads(self):
        start = int(time.time())
        g = Generator(Secret.new(), Lease(0, 63, start, start + 600))
        made, plan = [[] for _ in range(8)], g._plan

        def plan_and_yield(now):
            planned = plan(now)
            time.sleep(0)  # lets another thread in, where one may come in
            return planned

        g._plan = plan_and_yield

        def work(mine):
            for i in range(1500):
                mine += g.fill(30) if i % 50 == 0 else [g.generate()]

        threads = [threading.Thread(target=work, args=[mine]) for mine in made]
        for t in threads:
            t.start()
        for i in range(20):
            g.extend(start + 600 + i)
            g.replace(Lease(64 * (i + 1), 64 * (i + 1) + 63, start, start + 600))
        for t in threads:
            t.join()
        made = sum(made, [])
        self.assertEqual(len(made), 8 * (1470 + 30 * 30))
        self.assertEqual(repeats(made), 0)
