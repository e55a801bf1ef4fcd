"""IDs are signed 64-bit integers, as a BIGINT column holds them, and texts for everything else."""

import re
from typing import NamedTuple

from ._errors import InvalidArgumentError, check_range

# A raw value is timestamp (30 bits) | node (17 bits) | sequence (17 bits); timestamp counts seconds since EPOCH.
EPOCH = 1_730_000_000  # 2024-10-27 03:33:20 UTC
MAX_TIMESTAMP = EPOCH + (1 << 30) - 1  # the last Unix second that an ID can carry: 2058-11-05 17:10:23 UTC
MAX_NODE = MAX_SEQUENCE = (1 << 17) - 1


class Fields(NamedTuple):
    """The three numbers that an ID holds."""

    second: int  # a Unix second
    node: int
    sequence: int


def to_text(id: int) -> str:
    """Returns the text of an ID: base32hex of the unsigned value, in lower case, without leading zeros."""
    value, text = to_unsigned(id), ""
    while value or not text:
        value, text = value >> 5, "0123456789abcdefghijklmnopqrstuv"[value & 31] + text
    return text


def parse(text: str) -> int:
    """Reads what to_text wrote, and nothing else: each ID has exactly one text."""
    if not isinstance(text, str) or not re.fullmatch("0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12}", text):
        raise InvalidArgumentError(f"randflake: invalid ID {text!r:.40}: want 1 to 13 base32hex digits (0-9, a-v), "
                                   "without leading zeros, of at most 64 bits")
    return from_unsigned(int(text, 32))


def to_unsigned(id: int) -> int:
    """Returns an ID as a BIGINT UNSIGNED column holds it, and some other implementations."""
    check_range("ID", id, -1 << 63, (1 << 63) - 1)
    return id & (1 << 64) - 1


def from_unsigned(value: int) -> int:
    """Is the inverse of to_unsigned."""
    check_range("unsigned ID", value, 0, (1 << 64) - 1)
    return value - (value >> 63 << 64)


def pack(fields: Fields) -> int:
    """Returns the raw value of fields."""
    for name, value, least, most in zip(Fields._fields, fields, (EPOCH, 0, 0), (MAX_TIMESTAMP, MAX_NODE, MAX_SEQUENCE)):
        check_range(name, value, least, most)
    return fields.second - EPOCH << 34 | fields.node << 17 | fields.sequence
