<?php

// Prints how many IDs are made in a second of processor time, and how many for each one that PHP itself makes.

declare(strict_types=1);

namespace Randflake;

require __DIR__ . '/autoload.php';

$granting = new class (['http://x'], 'x') extends Service {
    public function acquire(array $request, float $limit): array
    {
        return ['node' => 0, 'start' => time(), 'end' => time() + 299];
    }
};
$generator = new Generator($granting, Secret::parse('00112233445566778899aabbccddeeff'));
$time = fn (array $u, string $of) => $u["ru_$of.tv_sec"] + $u["ru_$of.tv_usec"] / 1e6;
$used = fn () => $time(getrusage(), 'utime') + $time(getrusage(), 'stime');
foreach ([
    'bin2hex(random_bytes(16))' => fn () => bin2hex(random_bytes(16)),
    'uniqid()' => fn () => uniqid(),
    'generate()' => fn () => $generator->generate(),
    'fill(1000)' => fn () => $generator->fill(1000),
] as $what => $make) {
    $each = $what === 'fill(1000)' ? 1000 : 1;
    for ($n = 0, $begin = $used(); ($seconds = $used() - $begin) < 1; $n += 1000) {
        for ($i = 0; $i < 1000; $i += $each) {
            $make();
        }
    }
    $speed[] = $n / $seconds;
    printf("%-26s %9d a second, ratio %.3f\n", $what, $n / $seconds, $n / $seconds / $speed[0]);
}
