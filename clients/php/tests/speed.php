<?php

// Prints how many IDs a second of processor time are made, beside what PHP has.

declare(strict_types=1);

use Randflake\{Generator, Secret, Service};

require __DIR__ . '/autoload.php';

/** Grants without a network. */
final class Granting extends Service
{
    public function acquire(int $nodes, int $ttl, string $owner, string $check, bool $retry, float $limit): array
    {
        return ['id' => $owner, 'node' => 0, 'start' => time(), 'end' => time() + 299];
    }
}

function measure(string $what, int $each, Closure $make): void
{
    $used = fn () => array_sum(array_map(fn ($key) => getrusage()["ru_$key.tv_sec"] + getrusage()["ru_$key.tv_usec"] / 1e6, ['utime', 'stime']));
    for ($n = 0, $began = $used(); ($seconds = $used() - $began) < 1; $n += 1000) {
        for ($i = 0; $i < 1000; $i += $each) {
            $make();
        }
    }
    printf("%-28s %9d a second\n", $what, $n / $seconds);
}

$generator = new Generator(new Granting('http://localhost:1', 'x'), Secret::parse('00112233445566778899aabbccddeeff'));
measure('generate()', 1, fn () => $generator->generate());
measure('fill(1000)', 1000, fn () => $generator->fill(1000));
measure('uniqid()', 1, fn () => uniqid());
measure('bin2hex(random_bytes(16))', 1, fn () => bin2hex(random_bytes(16)));
