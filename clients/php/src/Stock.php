<?php

declare(strict_types=1);

namespace Randflake;

/**
 * An item, such as a lease, and a cursor in it: of all workers of PHP-FPM together, in APCu, or of one process, in its
 * memory.
 *
 * APCu may drop any entry at any time. So the cursor is an entry of its own, named after the item, which apcu_add makes
 * once, before anybody else can see the item, and which is moved by apcu_cas alone: unlike apcu_inc, that never makes an
 * entry anew. Once the cursor is gone, so is the item.
 *
 * @internal
 */
final class Stock
{
    use Uncopied;

    private readonly bool $shared;
    private array $own = [];
    private string $process = ''; // whose memory that is

    /** @param int $keep for how many seconds entries are of use */
    public function __construct(private readonly string $name, private readonly int $keep, private readonly System $system)
    {
        $this->shared = function_exists('apcu_enabled') && apcu_enabled();
        if (!$this->shared && !in_array(PHP_SAPI, ['cli', 'phpdbg', 'micro', 'embed'], true)) {
            throw new \RuntimeException('randflake: without APCu each request would take a lease: install and enable it');
        }
    }

    public function get(string $key): mixed
    {
        if ($this->shared) {
            $value = apcu_fetch("$this->name $key", $found);
            return $found ? $value : null;
        }
        if ($this->process !== $process = $this->system->process()) {
            [$this->own, $this->process] = [[], $process]; // it was forked
        }
        return $this->own[$key] ?? null;
    }

    public function put(string $key, mixed $value): void
    {
        if (!$this->shared) {
            $this->own[$key] = $value;
        } elseif (!apcu_store("$this->name $key", $value, $this->keep)) {
            throw new ServiceError('unavailable', 'APCu has no room');
        }
    }

    /** Deletes an entry. Of many that do so at once, one gets true. */
    public function delete(string $key): bool
    {
        if ($this->shared) {
            return apcu_delete("$this->name $key");
        }
        $there = $this->get($key) !== null;
        unset($this->own[$key]);
        return $there;
    }

    /**
     * Moves the cursor of an item to $floor at least, and then past $count places. Returns the first of them, or null if
     * there are not as many before $total, or the item is gone.
     */
    public function claim(string $id, int $floor, int $count, int $total): ?int
    {
        do {
            $cursor = $this->get("cursor $id");
            $at = $this->shared ? $cursor : $cursor?->at;
            if ($at === null || max($at, $floor) + $count > $total) {
                return null;
            }
            if (!$this->shared) { // += is one step even for handlers of signals
                $end = $cursor->at += max(0, $floor - $at) + $count;
                return $end <= $total && $this->get("cursor $id") === $cursor ? $end - $count : null; // not after a fork
            }
        } while (!apcu_cas("$this->name cursor $id", $at, max($at, $floor) + $count));
        return max($at, $floor);
    }

    /** Gets another item than $old by $fetch. If another worker is doing so, waits for theirs, or not. */
    public function replace(?string $old, float $limit, bool $wait, \Closure $fetch): void
    {
        $end = $this->system->monotonic() + $limit;
        for ($until = (int) ($end * 1000) + 1000; !$this->lock($until); usleep(2000)) {
            if (!$wait || ($this->get('item')['id'] ?? $old) !== $old) {
                return;
            }
            if ($this->system->monotonic() >= $end) {
                throw new ServiceError('unavailable', 'another worker has called the service for as long as the time limit');
            }
        }
        try {
            if (($this->get('item')['id'] ?? $old) !== $old) {
                return;
            }
            $process = $this->system->process();
            $item = $fetch(max(0.001, $end - $this->system->monotonic()));
            if ($process !== $this->system->process()) {
                return; // it is the parent's
            }
            if (!$this->shared) {
                $this->own["cursor $item[id]"] = (object) ['at' => 0];
            } elseif (!apcu_add("$this->name cursor $item[id]", 0, $this->keep)) {
                throw new ServiceError('unavailable', 'APCu has no room');
            }
            $this->put('item', $item);
            $this->delete("cursor $old");
        } finally {
            $this->shared && apcu_cas("$this->name lock", $until, 0);
        }
    }

    /** Lets one worker at a time call the service. If that one dies, the next one goes on at a time of the monotonic clock. */
    private function lock(int $until): bool
    {
        $held = $this->shared ? $this->get('lock') : 0;
        return !$this->shared || ($held === null ? apcu_add("$this->name lock", $until)
            : $held < $this->system->monotonic() * 1000 && apcu_cas("$this->name lock", $held, $until));
    }
}
