"""Unique 64-bit IDs that look random, made under leases of randflaked. See README.md."""

from ._generator import AsyncGenerator, Generator, LeasedGenerator, Minter
from ._id import Fields, Secret, parse, to_text
from ._service import Limits, Service, ServiceError

__all__ = ["AsyncGenerator", "Fields", "Generator", "LeasedGenerator", "Limits", "Minter", "Secret", "Service",
           "ServiceError", "parse", "to_text"]
