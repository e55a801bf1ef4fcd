"""Answers with the process ID, the ID that was made before the fork, and new IDs."""

import os
import sys

sys.path.insert(0, os.environ["CLIENTS"] + "/python")
from randflaked import Generator, Secret, Service  # noqa: E402

service = Service(os.environ["ADDRESSES"].split(","), os.environ["SPACE"], token=os.environ["TOKEN"])
generator = Generator(service, Secret.parse(os.environ["SECRET"]))
first = generator.generate()


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    new = [generator.generate() for _ in range(50)] + generator.fill(50)
    return [" ".join(map(str, [os.getpid(), first, *new])).encode()]
