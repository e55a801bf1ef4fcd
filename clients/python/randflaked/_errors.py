"""The errors of this package. None of them ever shows a secret or a token."""


class RandflakeError(Exception):
    """The base of all errors of this package."""


class InvalidIDError(RandflakeError, ValueError):
    """A value is not an ID, or no ID has the given fields."""


class InvalidSecretError(RandflakeError, ValueError):
    """A text or bytes are not a secret."""


class InvalidLeaseError(RandflakeError, ValueError):
    """A lease can't be used."""


class InvalidOptionError(RandflakeError, ValueError):
    """An argument of a constructor can't be used."""


class GenerateError(RandflakeError):
    """There is no ID that can be proven unique; the subclass says why."""

    why = "no ID can be proven unique"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or f"randflake: {self.why}")


class ExhaustedError(GenerateError):
    why = "no ID left in this second: wait for the next one or lease more nodes"


class LeaseNotStartedError(GenerateError):
    why = "lease has not started: wait until its start, or set the clock right"


class LeaseEndedError(GenerateError):
    why = "lease has ended: extend or replace it"


class ClockBackwardError(GenerateError):
    why = "clock is behind the newest ID: wait until it has caught up, or replace the lease"


class EndOfLifeError(GenerateError):
    why = "the format ends at 2058-11-05T17:10:23Z"


class ClosedError(GenerateError):
    why = "generator is closed"


class ForkedError(GenerateError):
    why = "generator is the parent's: after a fork, make another one with a lease of its own"


class ServiceError(RandflakeError):
    """randflaked refused, or did not answer.

    code is one of connectrpc.com, such as "resource_exhausted" where no nodes are free, and "unavailable" when there
    was no answer. unsure says that what was asked for may have been done all the same.
    """

    def __init__(self, code: str, message: str, unsure: bool = False) -> None:
        super().__init__(code, message, unsure)
        self.code, self.message, self.unsure = code, message, unsure

    def __str__(self) -> str:
        return f"randflake: {self.message} ({self.code})"
