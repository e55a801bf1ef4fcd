"""The errors of this package. None of them shows a secret or a token."""

# Errors after which nothing was done, and another replica would say the same. (https://connectrpc.com/docs/protocol)
FINAL = {"invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated",
         "resource_exhausted", "failed_precondition", "out_of_range", "unimplemented"}


class RandflakeError(Exception):
    """The base of all errors of this package. code is one of connectrpc.com."""

    code = "unknown"


class InvalidArgumentError(RandflakeError, ValueError):
    """An argument can't be used: a text is no ID, bytes are no secret, a count is too large. Nothing was claimed."""

    code = "invalid_argument"


class ServiceError(RandflakeError):
    """randflaked refused, or did not answer: then code is "unavailable". If no nodes are free, it is
    "resource_exhausted". Unless code is in FINAL, what was asked for may have been done."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return f"randflake: {self.args[1]} ({self.code})"


def check_range(name: str, value: int, least: int, most: int) -> None:
    if not isinstance(value, int) or not least <= value <= most:
        raise InvalidArgumentError(f"randflake: {name}: {value!r:.40}: want an integer from {least} to {most}")
