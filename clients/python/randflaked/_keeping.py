import math
import random
import secrets
import threading
import time
from dataclasses import dataclass, replace
from logging import ERROR, INFO, WARNING, Logger
from typing import Callable, Optional, Type, Union

from ._errors import (ClockBackwardError, ClosedError, GenerateError, InvalidLeaseError, LeaseEndedError,
                      LeaseNotStartedError, RandflakeError, ServiceError)
from ._generator import CLOCK_TOLERANCE, Generator, Lease
from ._id import MAX_TIMESTAMP
from ._secret import Secret
from ._service import Service, Lost, Record

FRESHNESS = 60  # seconds for which an acquisition of unknown outcome is asked for again

# Why IDs are refused, where another call of the service may help.
REASONS = (LeaseNotStartedError, LeaseEndedError, ClockBackwardError)
Reason = Optional[Type[GenerateError]]

# How things stand, as far as it is worth a line in the log.
GOOD = "lease is kept"
FAILING = "lease is not renewed: IDs go on until its end"
ENDING = "lease is lost: IDs go on until its end, or another lease"
STOPPED = "no ID can be made until there is a lease for the present"
LEVELS = {GOOD: INFO, FAILING: WARNING, ENDING: WARNING, STOPPED: ERROR}


@dataclass(frozen=True)
class Options:
    nodes: int
    ttl: int
    clock: Callable[[], float]
    logger: Logger
    monotonic: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random


@dataclass
class Status:
    """How a keeper fares. The counts are since it was made, in this process."""

    lease: Lease  # under which IDs are made
    healthy: bool = True  # the lease is in force and more than a third of its time is left
    error: Optional[Exception] = None  # why the last attempt to keep the lease failed; None if it went well
    acquired: int = 1
    renewed: int = 0
    lost: int = 0  # leases that the service gave up or gave to another owner
    frozen: int = 0  # those of them that were not used to their end
    replaced: int = 0
    released: int = 0
    failed: int = 0  # attempts to acquire, renew or release


def new_token(now: float) -> str:
    """Returns a token that no other call returns: the second of now in 6 bytes, and 10 random bytes."""
    return (int(now) % (1 << 48)).to_bytes(6, "big").hex() + secrets.token_hex(10)


class Keeping:
    """What a Keeper is in one process: a generator, its lease, and what keeps it.

    A thread calls step when it is due. What is granted is used only once the service has acknowledged it, and goes on
    to its end when the service fails.
    """

    def __init__(self, service: Service, secret: Secret, options: Options) -> None:
        self.service, self.options = service, options
        self.check = secret.check_value()
        self.limit = min(max(options.ttl / 6, 1.0), 10.0)  # seconds for one call of the service
        self.renewal: Optional[str] = None  # the token of a renewal of unknown outcome, which may yet arrive
        self.owner: Optional[str] = None  # that of an acquisition with an unknown outcome
        self.next: Optional[Record] = None  # another lease, granted and not yet in use
        self.lost = False  # others may hold the nodes of held after its end,
        self.over = False  # or even before that, so that the generator is frozen
        self.held = self._acquire_first()
        self.generator = Generator(secret, self.held.lease, clock=options.clock)
        self.status = Status(self.held.lease)
        self.backoff = self._shortest = max(options.ttl / 60, 1.0)
        self.again: Optional[float] = None  # the next step is then, not before and not after; None if it is free
        self.due = math.inf  # step then even if nothing happens
        self.reason: Reason = None  # the newest refusal that nothing was done about
        self.condition = GOOD
        self.wake = threading.Condition()
        self.closing = False
        self._schedule_renewal()
        self._log(INFO, GOOD)

    # When to act: after a pause where something was wrong, otherwise when it is due, or on a refusal.

    def note(self, refusal: GenerateError) -> None:
        """Is told of every refusal of the generator."""
        if isinstance(refusal, REASONS) and self.reason is not type(refusal):
            with self.wake:
                self.reason = type(refusal)
                self.wake.notify()

    def next_step(self) -> float:
        """Returns the monotonic time at which step is to be called."""
        if self.again is not None:
            return self.again
        return self.options.monotonic() if self.reason else self.due

    def run(self) -> None:
        """Keeps the lease until close."""
        while self._wait() and self.step():
            pass
        self.finish()

    def _wait(self) -> bool:
        with self.wake:
            while not self.closing:
                left = self.next_step() - self.options.monotonic()
                if left <= 0:
                    return True
                self.wake.wait(min(left, threading.TIMEOUT_MAX))
        return False

    def close(self) -> None:
        """Ends the making of IDs, and lets run finish."""
        self.generator.close()
        with self.wake:
            self.closing = True
            self.wake.notify()

    # What to do.

    def step(self) -> bool:
        """Does what is due, and what helps against a refusal. Returns False once the generator is closed."""
        why: Reason = None
        error: Optional[Exception] = None
        try:
            why = self._trouble()
            self._act(why)
        except ClosedError:
            return False
        except Exception as e:  # whatever it is, the lease must be kept
            error = e
        self._pace(calm=error is None and why is None)
        self._report(why, error)
        return True

    def _trouble(self) -> Reason:
        """Returns why the generator refuses at present: a refusal that was noted may be long past."""
        noted, self.reason = self.reason, None
        if noted or self.condition is STOPPED:
            try:
                self.generator.check_ready()
            except REASONS as refusal:
                return type(refusal)
            except ClosedError:
                raise
            except GenerateError:
                pass
        return None

    def _act(self, why: Reason) -> None:
        if self.next:
            if why is None and self._until_move() > 0:
                return self._schedule_move()
            return self._move(self.next)
        if not self.lost and (self.options.monotonic() >= self.due or why is LeaseEndedError):
            self._renew()
        starts_late = self.held.start - self._now() > self.options.ttl
        if self.lost or why is ClockBackwardError or why is LeaseNotStartedError and starts_late:
            self._change(why)

    def _renew(self) -> None:
        """Raises the end of the lease, or finds that it is lost."""
        try:
            lost = self._try_renew()
        except ServiceError:
            self.status.failed += 1
            self._extend()  # to what was read back
            raise
        if lost:
            return self._lose(lost)
        self.status.renewed += 1
        self._schedule_renewal()
        self._extend()
        if self._now() >= self.generator.lease.end:
            raise self._doubt(f"renewed up to second {self.generator.lease.end}")

    def _try_renew(self) -> Optional[Lost]:
        """Calls the service until it is known where the lease stands. A renewal whose answer was lost, or that arrives
        late, makes the next one fail though the lease is still ours; then its token in the record tells."""
        in_doubt = self.renewal is not None and not self._look_up()
        for _ in range(2):
            if self.renewal is None:
                self.renewal, in_doubt = new_token(self._now()), False
            outcome = self.service.renew(self.held, self.options.ttl, self.renewal, self.limit)
            if isinstance(outcome, Record):
                self.held, self.renewal = outcome, None
                return None
            if not (in_doubt or outcome.unsure) or not self._look_up():
                return outcome
        return None

    def _look_up(self) -> bool:
        """Makes the service's record the known one if it was our renewal that changed it."""
        found = self._changed_by(self.held, self.renewal)
        if found:
            self.held, self.renewal = found, None
        return found is not None

    def _changed_by(self, held: Record, renewal: Optional[str]) -> Optional[Record]:
        found = self.service.lookup(held, self.limit)
        return found if isinstance(found, Record) and found.change == renewal else None

    def _extend(self) -> None:
        """Lets the generator go on to the end of the known record. What was granted before stays good."""
        if self.held.lease.end > self.generator.lease.end:
            self.generator.extend(self.held.lease.end)

    def _lose(self, lost: Lost) -> None:
        """Goes on to the end of a lost lease only if all others come after it."""
        self.lost, self.renewal = True, None
        self.status.lost += 1
        if not lost.spares(self.generator.lease.end - 1):
            self.over = True
            self.generator.freeze()
            self.status.frozen += 1

    def _change(self, why: Reason) -> None:
        """Acquires another lease, and moves onto it as soon as that is right."""
        try:
            record = self._acquire()
        except ServiceError:
            self.status.failed += 1
            raise
        self.status.acquired += 1
        ahead = record.start - self._now()
        better = record.start < self.held.start if why is LeaseNotStartedError else ahead <= CLOCK_TOLERANCE
        if not self.lost and not better:
            self._give_back(record, None, record.start - 1)
            raise self._doubt(f"no lease starts before second {record.start}")
        self.next = record
        if why is None and self._until_move() > 0:
            return self._schedule_move()
        self._move(record)

    def _acquire(self) -> Record:
        """Asks for a lease; after an unknown outcome for the same one again, for a while."""
        if self.owner is None or not 0 <= self._now() - int(self.owner[:12], 16) <= FRESHNESS:
            self.owner = new_token(self._now())
        try:
            record = self.service.acquire(self.options.nodes, self.options.ttl, self.owner, self.check, self.limit)
        except ServiceError as error:
            if error.code in ("invalid_argument", "already_exists", "failed_precondition"):
                self.owner = None
            raise
        self.owner = None
        return record

    def _acquire_first(self) -> Record:
        try:
            return self._acquire()
        except ServiceError as error:
            if not error.unsure:
                raise
            return self._acquire()

    def _move(self, record: Record) -> None:
        """Makes the generator go on with another lease, and gives the old one back."""
        try:
            last_used = self.generator.replace(record.lease)
        except InvalidLeaseError:
            self.next = None
            self._give_back(record, None, record.start - 1)
            raise
        held, renewal, lost = self.held, self.renewal, self.lost
        self.held, self.renewal, self.next, self.lost, self.over = record, None, None, False, False
        self.status.replaced += 1
        self._schedule_renewal()
        if not lost:
            self._give_back(held, renewal, last_used)  # if that fails it runs out by itself

    def finish(self) -> None:
        """Gives back what is held, now that no more IDs are made."""
        last_used, error = self.generator.close(), None
        if self.next:
            error = self._give_back(self.next, None, self.next.start - 1)
        if not self.lost:
            error = self._give_back(self.held, self.renewal, last_used) or error
        self.status.error, self.closing = error, True
        self._log(WARNING if error else INFO, "closed, but lease not given back: it runs out by itself" if error else
                  "closed, lease given back", error)

    def _give_back(self, held: Record, renewal: Optional[str], last_used: int) -> Optional[ServiceError]:
        """Releases a lease. Tries once more where the first attempt, or a renewal under way, may have taken effect."""
        error: Optional[ServiceError] = None
        for _ in range(2):
            try:
                if self.service.release(held, last_used, self.limit) is None:
                    self.status.released += 1
                    return None
                found = self._changed_by(held, renewal) if renewal else None
            except ServiceError as e:
                error = e
                continue
            if not found:
                return None  # released with the answer lost, or taken over
            held, renewal = found, None
        self.status.failed += 1
        return error

    # Times. Those at which to act are real ones, whatever the clock shows.

    def _now(self) -> float:
        return self.options.clock()

    def _doubt(self, what: str) -> RandflakeError:
        return RandflakeError(f"randflake: {what}, but the clock says {self._now():.0f}: is it wrong, or the "
                              "service's, or did the service lose data?")

    def _until_move(self) -> float:
        """Returns how long it is until the next lease starts, or the one that is held ends."""
        assert self.next
        return min(self.next.start, self.generator.lease.end) - self._now()

    def _schedule_move(self) -> None:
        self.due = self.options.monotonic() + max(min(self._until_move(), self.options.ttl / 3), 0.001)

    def _schedule_renewal(self) -> None:
        """Makes a renewal due at a third of the TTL, give or take a tenth, unless the format ends with this lease."""
        pause = self.options.ttl / 3 * (0.9 + 0.2 * self.options.jitter())
        self.due = self.options.monotonic() + pause if self.held.high_water < MAX_TIMESTAMP else math.inf

    def _pace(self, calm: bool) -> None:
        """After a step that was not calm there is a pause, longer each time, up to a quarter of the TTL."""
        if calm:
            self.again, self.backoff = None, self._shortest
            return
        self.again = self.options.monotonic() + self.backoff * (1 + self.options.jitter() / 2)
        self.backoff = min(2 * self.backoff, max(self.options.ttl / 6, 1.0))

    # What to say.

    def snapshot(self) -> Status:
        now, lease = self._now(), self.generator.lease
        over = self.closing or self.generator.forked or self.condition is STOPPED or self.reason is ClockBackwardError
        healthy = not over and lease.start <= now < lease.end - self.options.ttl / 3
        return replace(self.status, lease=lease, healthy=healthy)

    def _report(self, why: Reason, error: Optional[Exception]) -> None:
        now, lease, before = self._now(), self.generator.lease, (self.condition, self.status.lease[:2])
        if now >= lease.end or self.over or error and (why is ClockBackwardError or now < lease.start):
            self.condition = STOPPED
        else:
            self.condition = ENDING if self.lost else FAILING if error else GOOD
        self.status.error, self.status.lease = error, lease
        if before != (self.condition, lease[:2]):
            self._log(LEVELS[self.condition], self.condition, error)

    def _log(self, level: int, message: str, error: Union[Exception, None] = None) -> None:
        lease = self.generator.lease
        self.options.logger.log(level, "randflake: %s: nodes %d to %d, seconds %d to %d%s", message, *lease[:3],
                                lease.end - 1, f": {error}" if error else "")
