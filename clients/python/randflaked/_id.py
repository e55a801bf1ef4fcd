"""IDs are plain integers, signed and of 64 bits, as a BIGINT column holds them. To the world they show as text."""

import re
from datetime import datetime, timezone
from typing import NamedTuple

from ._errors import InvalidIDError

# A raw value is timestamp (30 bits) | node (17 bits) | sequence (17 bits); timestamp counts seconds since EPOCH.
EPOCH = 1_730_000_000  # 2024-10-27 03:33:20 UTC
MAX_TIMESTAMP = EPOCH + (1 << 30) - 1  # the last Unix second that an ID can carry: 2058-11-05 17:10:23 UTC
MAX_NODE = (1 << 17) - 1
MAX_SEQUENCE = (1 << 17) - 1

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_TEXT = re.compile("0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12}")


class Fields(NamedTuple):
    """The three numbers that an ID holds."""

    second: int  # a Unix second
    node: int
    sequence: int

    @property
    def time(self) -> datetime:
        """The second, in UTC."""
        return datetime.fromtimestamp(self.second, timezone.utc)


def to_text(id: int) -> str:
    """Returns the text form of an ID: base32hex of the unsigned value, in lower case, without leading zeros."""
    value = unsigned(id)
    text = _DIGITS[value & 31]
    while value > 31:
        value >>= 5
        text = _DIGITS[value & 31] + text
    return text


def parse(text: str) -> int:
    """Reads what to_text wrote. Each ID has exactly one text: any other raises InvalidIDError."""
    if not isinstance(text, str) or not _TEXT.fullmatch(text):
        raise InvalidIDError(f"randflake: invalid ID {text!r:.40}: want 1 to 13 base32hex digits (0-9, a-v), without "
                             "leading zeros, of at most 64 bits")
    return signed(int(text, 32))


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def unsigned(id: int) -> int:
    if not isinstance(id, int) or not -1 << 63 <= id < 1 << 63:
        raise InvalidIDError(f"randflake: invalid ID {id!r:.40}: want a signed integer of 64 bits; parse reads text")
    return id & (1 << 64) - 1


def pack(fields: Fields) -> int:
    """Returns the raw value of fields, or raises InvalidIDError where they don't fit."""
    bounds = ((EPOCH, MAX_TIMESTAMP), (0, MAX_NODE), (0, MAX_SEQUENCE))
    for name, value, (least, most) in zip(fields._fields, fields, bounds):
        if not least <= value <= most:
            raise InvalidIDError(f"randflake: invalid ID: {name} {value}: want {least} to {most}")
    return fields.second - EPOCH << 34 | fields.node << 17 | fields.sequence


def unpack(raw: int) -> Fields:
    return Fields((raw >> 34) + EPOCH, raw >> 17 & MAX_NODE, raw & MAX_SEQUENCE)
