"""Unique 64-bit IDs that look random, made under leases of randflaked. See README.md."""

from ._generator import AsyncGenerator, Generator, LeasedGenerator, Minter
from ._id import Fields, Secret, format_id, parse_id
from ._service import Numbers, RandflakeError, Service

__all__ = ["AsyncGenerator", "Fields", "Generator", "LeasedGenerator", "Minter", "Numbers", "RandflakeError", "Secret",
           "Service", "format_id", "parse_id"]
