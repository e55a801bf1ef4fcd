import base64
import hashlib
import hmac
import re
import secrets
from typing import NoReturn

from ._errors import InvalidSecretError


class Secret:
    """The 128-bit key of one ID space, which opens every ID of it. It prints as "[redacted]"; only hex() reveals it.

    It can't be pickled: pass its text to another process the way it came to this one.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        """Takes 16 bytes. Another length, and 16 zero bytes, raise InvalidSecretError."""
        if not isinstance(key, (bytes, bytearray)) or len(key) != 16:
            raise InvalidSecretError("randflake: secret: want 16 bytes; Secret.parse reads text")
        if not any(key):
            raise InvalidSecretError("randflake: secret: it is all zeros, so that anybody could open its IDs: "
                                     "make one with Secret.new()")
        self._key = bytes(key)

    @classmethod
    def new(cls) -> "Secret":
        """Returns a fresh random secret."""
        return cls(secrets.token_bytes(16))

    @classmethod
    def parse(cls, text: str) -> "Secret":
        """Reads 32 hexadecimal digits, or the base64 of 16 bytes (either alphabet, with or without padding)."""
        if re.fullmatch("[0-9A-Fa-f]{32}", text):
            return cls(bytes.fromhex(text))
        if re.fullmatch("([0-9A-Za-z+/]{22}|[0-9A-Za-z_-]{22})(==)?", text) and text[21] in "AQgw":
            return cls(base64.urlsafe_b64decode(text[:22].replace("+", "-").replace("/", "_") + "=="))
        raise InvalidSecretError("randflake: secret: want 32 hexadecimal digits or the base64 of 16 bytes, "
                                 f"got {len(text)} characters that are neither")

    def hex(self) -> str:
        """Gives the secret away, as 32 hexadecimal digits that parse reads."""
        return self._key.hex()

    def check_value(self) -> str:
        """Returns 16 hexadecimal digits by which two places find out whether they have the same secret.

        They are the first 8 bytes of HMAC-SHA-256 of a fixed text under the secret, and don't reveal it.
        """
        return hmac.new(self._key, b"randflake key check value", hashlib.sha256).digest()[:8].hex()

    def __eq__(self, other: object) -> bool:
        return hmac.compare_digest(self._key, other._key) if isinstance(other, Secret) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Secret([redacted])"

    def __reduce__(self) -> NoReturn:
        raise TypeError("randflake: a Secret can't be pickled or copied: pass its text, for Secret.parse")
