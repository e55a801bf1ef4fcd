"""Prints how many IDs a second of processor time makes, and their ratios to uuid.uuid4: python3 -m tests.speed"""

import time
import timeit
import uuid

from randflaked import Generator, Limits, Secret, Service


class Leases(Service):
    def limits(self):
        return Limits(3600, 5, "")

    def take(self, *args):
        return 0


def rate(call, ids):
    return 50_000 / min(timeit.repeat(call, number=50_000 // ids, repeat=15, timer=time.process_time))


if __name__ == "__main__":
    generator = Generator(Leases("http://127.0.0.1:1", "demo"), Secret(b"a secret of 16 b"), nodes=1000)
    uuids = rate(uuid.uuid4, 1)
    print(f"uuid.uuid4 {uuids:,.0f}")
    for name, ids in ("generate", rate(generator.generate, 1)), ("fill", rate(lambda: generator.fill(500), 500)):
        print(f"{name} {ids:,.0f}, {ids / uuids:.2f} times as many")
