<?php

declare(strict_types=1);

namespace Randflake;

/** Gives away IDs that the service makes, 512 at a time: without the secret, and without a call for each ID. */
final class Minter
{
    use Uncopied;

    private const BATCH = 512;
    private const LONGEST = 300; // seconds for which a batch is used
    private readonly Stock $stock;

    public function __construct(private readonly Service $service)
    {
        $name = hash('sha256', json_encode([$service->addresses, $service->space], JSON_THROW_ON_ERROR));
        $this->stock = new Stock("randflake batch $name", self::LONGEST + 60, $service->system);
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
            $batch = $this->stock->get('item');
            $fresh = $batch !== null && $this->service->system->monotonic() - $batch['since'] < self::LONGEST;
            $at = $fresh ? $this->stock->claim($batch['id'], 0, 1, self::BATCH) : null;
            if ($at === null) {
                $this->stock->replace($batch['id'] ?? null, $this->service->limit, true, fn () => ['id' => bin2hex(random_bytes(16)),
                    'since' => $this->service->system->monotonic(), 'ids' => $this->service->mint(self::BATCH)]);
            } else {
                $ids[] = $batch['ids'][$at];
            }
        }
        return $ids;
    }
}
