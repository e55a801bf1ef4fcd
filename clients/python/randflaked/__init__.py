"""Unique 64-bit IDs that look random, made under leases of randflaked. See README.md."""

from ._cipher import Cipher
from ._errors import InvalidArgumentError, RandflakeError, ServiceError
from ._generator import AsyncGenerator, Generator
from ._id import EPOCH, MAX_NODE, MAX_SEQUENCE, MAX_TIMESTAMP, Fields, from_unsigned, parse, to_text, to_unsigned
from ._minter import Minter
from ._secret import Secret
from ._service import Lease, Service

__all__ = ["EPOCH", "MAX_NODE", "MAX_SEQUENCE", "MAX_TIMESTAMP", "AsyncGenerator", "Cipher", "Fields", "Generator",
           "InvalidArgumentError", "Lease", "Minter", "RandflakeError", "Secret", "Service", "ServiceError",
           "from_unsigned", "parse", "to_text", "to_unsigned"]
