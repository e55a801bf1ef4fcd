import base64
import hashlib
import hmac
import re
import secrets

from ._errors import InvalidArgumentError
from ._process import Uncopied


class Secret(Uncopied):
    """The 128-bit key of an ID space, which opens every ID in it. It prints as [redacted]; only hex() reveals it."""

    __slots__ = ("_key",)
    _instead = "pass its text, for Secret.parse"

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, (bytes, bytearray)) or len(key) != 16 or not any(key):
            raise InvalidArgumentError("randflake: secret: want 16 bytes, not all zeros; Secret.parse reads text")
        self._key = bytes(key)

    @classmethod
    def new(cls) -> "Secret":
        """Returns a random secret."""
        return cls(secrets.token_bytes(16))

    @classmethod
    def parse(cls, text: str) -> "Secret":
        """Reads 32 hexadecimal digits, or the base64 of 16 bytes (either alphabet, with or without padding)."""
        if re.fullmatch("[0-9A-Fa-f]{32}", text):
            return cls(bytes.fromhex(text))
        if re.fullmatch("([0-9A-Za-z+/]{21}|[0-9A-Za-z_-]{21})[AQgw](==)?", text):
            return cls(base64.b64decode(text[:22] + "==", "-_" if re.search("[-_]", text) else None))
        raise InvalidArgumentError("randflake: secret: want 32 hexadecimal digits or the base64 of 16 bytes, "
                                   f"got {len(text)} characters that are neither")

    def hex(self) -> str:
        """Gives the secret away, as 32 hexadecimal digits."""
        return self._key.hex()

    def check_value(self) -> str:
        """Returns 16 hexadecimal digits that tell secrets apart without revealing them."""
        return hmac.new(self._key, b"randflake key check value", hashlib.sha256).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return hmac.compare_digest(self._key, other._key) if isinstance(other, Secret) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Secret([redacted])"
