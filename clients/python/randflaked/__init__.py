"""Unique 64-bit IDs that look random, made under leases of randflaked. See README.md."""

from ._cipher import Cipher
from ._errors import (ClockBackwardError, ClosedError, EndOfLifeError, ExhaustedError, ForkedError, GenerateError,
                      InvalidIDError, InvalidLeaseError, InvalidOptionError, InvalidSecretError, LeaseEndedError,
                      LeaseNotStartedError, RandflakeError, ServiceError)
from ._generator import Generator, Lease
from ._id import EPOCH, MAX_NODE, MAX_SEQUENCE, MAX_TIMESTAMP, Fields, parse, to_text
from ._keeper import Keeper
from ._keeping import Status
from ._secret import Secret
from ._service import Service

__all__ = [
    "EPOCH", "MAX_NODE", "MAX_SEQUENCE", "MAX_TIMESTAMP",
    "Cipher", "Fields", "Generator", "Keeper", "Lease", "Service", "Secret", "Status", "parse", "to_text",
    "ClockBackwardError", "ClosedError", "EndOfLifeError", "ExhaustedError", "ForkedError", "GenerateError",
    "InvalidIDError", "InvalidLeaseError", "InvalidOptionError", "InvalidSecretError", "LeaseEndedError",
    "LeaseNotStartedError", "RandflakeError", "ServiceError",
]
