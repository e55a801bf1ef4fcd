<?php

declare(strict_types=1);

namespace Randflake;

/** Makes unique IDs under leases. It calls the service only for a lease, which is then shared by all workers of FPM. */
class Generator
{
    use Uncopied;

    private const PATIENCE = 1.0; // seconds for a call while there is a lease
    private readonly Stock $stock;

    /** Leases $nodes nodes, each of which makes 131,072 IDs a second, for $ttl seconds each time. */
    public function __construct(
        private readonly Service $service,
        private readonly Secret $secret,
        private readonly int $nodes = 1,
        private readonly int $ttl = 300,
    ) {
        Service::count($nodes, Id::MAX_NODE + 1);
        Service::count($ttl, 1 << 30);
        $name = hash('sha256', json_encode([$service->addresses, $service->space, $secret->checkValue(), $nodes, $ttl], JSON_THROW_ON_ERROR));
        $this->stock = new Stock("randflake lease $name", $ttl + 60, $service->system);
    }

    /** Returns a new ID. Throws a ServiceError if there is no lease to be had. */
    public function generate(): int
    {
        return $this->fill(1)[0];
    }

    /** Returns $count new IDs, at most 131,072 times the nodes. @return int[] */
    public function fill(int $count): array
    {
        $places = $this->nodes << 17;
        Service::count($count, $places);
        for ($end = null;;) {
            $lease = $this->stock->get('item');
            $age = $lease === null ? INF : $this->service->system->monotonic() - $lease['since'];
            if ($age < $this->ttl && $age >= $this->ttl * 2 / 3) {
                $this->renew($lease);
                $lease = $this->stock->get('item') ?? $lease;
            }
            $second = $age < $this->ttl ? max($lease['start'], min($lease['end'], $this->service->system->second())) : 0;
            $first = $age < $this->ttl ? $this->stock->claim($lease['id'], ($second - $lease['start']) * $places, $count,
                ($lease['end'] - $lease['start'] + 1) * $places) : null;
            if ($first !== null) {
                return $this->secret->encrypt(array_map(fn (int $p) => $this->raw($lease, $p, $places), range($first, $first + $count - 1)));
            }
            $now = $this->service->system->monotonic();
            if ($now >= $end ??= $now + $this->service->limit) {
                throw new ServiceError('unavailable', 'leases end, or are gone from APCu, before they can be used');
            }
            $this->stock->replace($lease['id'] ?? null, $end - $now, true, $this->acquire(...));
        }
    }

    /** Returns the raw value of a place of a lease. */
    protected function raw(array $lease, int $p, int $places): int
    {
        return $lease['start'] + intdiv($p, $places) - Id::EPOCH << 34 | ($lease['node'] << 17) + $p % $places;
    }

    /** Tries to get another lease while there is one: after failures, no sooner than a second later, then two, up to sixteen. */
    private function renew(array $lease): void
    {
        [$again, $failures] = $this->stock->get('pace') ?? [0, 0];
        if ($this->service->system->monotonic() < $again) {
            return;
        }
        try {
            $this->stock->replace($lease['id'], min(self::PATIENCE, $this->service->limit), false, $this->acquire(...));
            $this->stock->delete('pace');
        } catch (ServiceError) {
            $this->stock->put('pace', [$this->service->system->monotonic() + 2 ** min($failures, 4), $failures + 1]);
        }
    }

    /** After an unknown outcome the next call, of one worker, has the same token, for up to a minute. */
    private function acquire(float $limit): array
    {
        [$owner, $since] = $this->stock->get('token') ?? ['', -INF];
        $now = $this->service->system->monotonic();
        $retry = $this->stock->delete("token $owner") && $now - $since <= 60;
        if (!$retry) {
            [$owner, $since] = [bin2hex(substr(pack('J', $this->service->system->second()), 2) . random_bytes(10)), $now];
        }
        try {
            return ['since' => $since] + $this->service->acquire($this->nodes, $this->ttl, $owner, $this->secret->checkValue(), $retry, $limit);
        } catch (ServiceError $error) {
            if ($error->unknown()) {
                $this->stock->put("token $owner", 1);
                $this->stock->put('token', [$owner, $since]);
            }
            throw $error;
        }
    }
}
