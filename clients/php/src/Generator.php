<?php

declare(strict_types=1);

namespace Randflake;

/** Makes unique IDs under leases. It calls the service only for a lease. */
final class Generator
{
    private readonly string $name;

    /** Leases $nodes nodes, each of which makes 131,072 IDs a second, for $ttl seconds each time. */
    public function __construct(
        private readonly Service $service,
        private readonly Secret $secret,
        private readonly int $nodes = 1,
        private readonly int $ttl = 300,
    ) {
        Service::count($nodes, Id::MAX_NODE + 1);
        Service::count($ttl, 1 << 30);
        $purpose = [$service->addresses, $service->space, $secret->checkValue, $nodes, $ttl];
        $this->name = 'randflake ' . serialize($purpose);
    }

    private function __clone() {}

    /** Returns a new ID. Throws a ServiceError if there is no lease to be had. */
    public function generate(): int
    {
        return $this->fill(1)[0];
    }

    /** Returns $count new IDs, at most 131,072 times the nodes. @return int[] */
    public function fill(int $count): array
    {
        $places = $this->nodes << 17; // of a second
        Service::count($count, $places);
        for (;;) {
            $state = Process::state($this->name);
            $lease = $this->lease($state);
            $cursor = $lease->cursor;
            $second = max($lease->start, min($lease->end, time()));
            $more = max(0, ($second - $lease->start) * $places - $cursor) + $count;
            $total = ($lease->end - $lease->start + 1) * $places;
            if ($cursor + $more > $total) {
                $this->acquire($state, $this->service->limit);
                continue;
            }
            $end = $lease->cursor += $more; // one step: a handler of a signal may have made IDs since, or forked
            if ($end <= $total && $state === Process::state($this->name)) {
                break;
            }
        }
        for ($ids = [], $place = $end - $count; $place < $end; $place++) {
            $second = $lease->start + intdiv($place, $places) - Id::EPOCH;
            $ids[] = $this->secret->encrypt($second << 34 | ($lease->node << 17) + $place % $places);
        }
        return $ids;
    }

    /** Returns the lease to use. At two thirds of the TTL it tries to get another one, for up to a second at a time. */
    private function lease(\stdClass $state): \stdClass
    {
        $lease = $state->lease ?? null;
        $age = $lease === null ? INF : Process::now() - $lease->since;
        if ($age >= $this->ttl) {
            return $this->acquire($state, $this->service->limit);
        }
        if ($age >= $this->ttl * 2 / 3 && Process::now() >= ($state->again ?? 0)) {
            try {
                return $this->acquire($state, min(1.0, $this->service->limit));
            } catch (ServiceError) {
                $state->wait = min(16, 2 * ($state->wait ?? 0.5));
                $state->again = Process::now() + $state->wait;
            }
        }
        return $lease;
    }

    /** After an unknown outcome the next call has the same token, for up to a minute. */
    private function acquire(\stdClass $state, float $limit): \stdClass
    {
        [$owner, $since] = $state->pending ?? ['', -INF];
        $state->pending = null; // no handler of a signal uses it as well
        $retry = Process::now() - $since <= 60;
        if (!$retry) {
            [$owner, $since] = [bin2hex(substr(pack('J', time()), 2) . random_bytes(10)), Process::now()];
        }
        try {
            $request = ['nodes' => $this->nodes, 'ttlSeconds' => $this->ttl, 'check' => $this->secret->checkValue];
            $lease = $this->service->acquire($request + ['owner' => $owner, 'retry' => $retry], $limit);
        } catch (ServiceError $error) {
            $state->pending = $error->unknown ? [$owner, $since] : null;
            throw $error;
        }
        unset($state->wait, $state->again);
        return $state->lease = (object) ($lease + ['since' => $since, 'cursor' => 0]);
    }
}

/** Gives away IDs that the service makes, 512 at a time: without the secret, and without a call for each ID. */
final class Minter
{
    private readonly string $name;

    public function __construct(private readonly Service $service)
    {
        $this->name = 'randflake ' . serialize([$service->addresses, $service->space]);
    }

    public function generate(): int
    {
        return $this->fill(1)[0];
    }

    /** Returns up to 65,536 new IDs. @return int[] */
    public function fill(int $count): array
    {
        Service::count($count);
        for ($ids = []; count($ids) < $count;) {
            $state = Process::state($this->name);
            $now = Process::now();
            if (empty($state->ids) || $now - $state->since >= 300) {
                [$state->ids, $state->since] = [$this->service->mint(512), $now];
            }
            $id = array_pop($state->ids);
            if ($id !== null && $state === Process::state($this->name)) { // not so after a handler's fork
                $ids[] = $id;
            }
        }
        return $ids;
    }
}

/**
 * What this process has, by name: a lease with its cursor, or IDs that the service made.
 *
 * PHP-FPM forgets all memory after a request. So what is left then goes into APCu, where a request of any worker takes
 * it. The key of an entry comes only once, and only one request can delete the entry: that one has what was in it. So
 * nothing is used twice, whatever APCu drops, and whichever worker is stopped or killed.
 *
 * @internal
 */
final class Process
{
    private const SLOTS = 256; // each has the key of an entry
    private const KEEP = 3600; // seconds for which APCu keeps both

    private static array $states = [];
    private static string $mark = ''; // of the process whose states they are
    private static \FFI\CData|array|null $page = null;

    /** Returns what there is by a name. It is empty at first, and after a fork. */
    public static function state(string $name): \stdClass
    {
        if (self::$mark !== $mark = self::mark()) {
            [self::$states, self::$mark] = [[], $mark];
        }
        return self::$states[$name] ??= self::take($name);
    }

    private static function take(string $name): \stdClass
    {
        if (in_array(PHP_SAPI, ['cli', 'phpdbg', 'micro', 'embed'], true)) { // the memory is kept
            return new \stdClass();
        }
        if (!function_exists('apcu_enabled') || !apcu_enabled()) {
            throw new \RuntimeException('randflake: install and enable APCu: else each request would take a lease');
        }
        register_shutdown_function(self::leave(...), $name); // also runs after fatal errors, unlike destructors
        for ($slot = 0; $slot < self::SLOTS; $slot++) {
            $key = apcu_fetch("$name $slot");
            $state = apcu_fetch("$name $key");
            if ($state && apcu_delete("$name $key")) {
                apcu_delete("$name $slot");
                return $state;
            }
        }
        return new \stdClass();
    }

    private static function leave(string $name): void
    {
        if (self::$mark !== self::mark() || !isset(self::$states[$name])) {
            return; // in a child of a fork, what there is belongs to its parent
        }
        $key = bin2hex(random_bytes(16));
        $stored = apcu_store("$name $key", self::$states[$name], self::KEEP);
        unset(self::$states[$name]);
        if (!$stored) {
            trigger_error('randflake: a lease is lost, as APCu has no room: raise apc.shm_size', E_USER_WARNING);
            return;
        }
        for ($slot = 0; $slot < self::SLOTS && !apcu_add("$name $slot", $key, self::KEEP); $slot++) {
        }
    }

    /** Returns seconds of a clock that nobody sets. */
    public static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    /**
     * Returns a mark of this process that a fork does not keep: the process ID and, with FFI on Linux, a number in a
     * page with MADV_WIPEONFORK, as a child in another PID namespace may have the process ID of its parent.
     */
    public static function mark(): string
    {
        self::$page ??= self::page();
        if (self::$page[0] === 0) {
            self::$page[0] = random_int(1, PHP_INT_MAX);
        }
        return getmypid() . ' ' . self::$page[0];
    }

    private static function page(): \FFI\CData|array
    {
        if (PHP_OS_FAMILY === 'Linux' && PHP_SAPI === 'cli' && extension_loaded('ffi') && ini_get('ffi.enable')) {
            $libc = \FFI::cdef('void *mmap(void *, size_t, int, int, int, long); int madvise(void *, size_t, int);');
            $page = $libc->mmap(null, 4096, 3, 0x22, -1, 0); // read and write, private and anonymous
            if ($libc->madvise($page, 4096, 18) === 0) { // MADV_WIPEONFORK; fails after a failed mmap, too
                return $libc->cast('int64_t *', $page);
            }
        }
        return [0];
    }
}
