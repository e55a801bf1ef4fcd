<?php

// What the driver can't show: dumps without secrets, and what requests of PHP-FPM leave to each other in APCu.

declare(strict_types=1);

namespace Randflake; // whose functions come before those of PHP

require __DIR__ . '/autoload.php';

// no SAPI keeps its memory
function in_array(): bool { return false; }

function register_shutdown_function(\Closure $leave, string $name): void { $GLOBALS['leave'] = fn () => $leave($name); }

function check(bool $so, string $what): void
{
    echo $so ? 'ok   ' : 'FAIL ', "$what\n";
    $so || exit(1);
}

$secret = Secret::parse('6162' . str_repeat('41', 14)); // whose first word is 24930
$objects = [$service = new Service(['http://x'], 'x', 'to-ken'), $secret, new Generator($service, $secret)];
ob_start();
var_dump($objects, array_map(fn ($object) => (array) $object, $objects));
$dumps = ob_get_clean() . print_r($objects, true) . var_export($objects, true) . json_encode($objects);
check(!preg_match('/to-ken|24930|AAAA|4141/', $dumps), 'dumps without secrets');

if (!extension_loaded('apcu') || !apcu_enabled()) {
    extension_loaded('apcu') ? passthru(PHP_BINARY . ' -d apc.enable_cli=1 ' . __FILE__, $status) : print "skip APCu\n";
    exit($status ?? 0);
}
for ($i = 0; $i < 4; $i++) {
    [$in[], $out] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        for ($n = 0; $n < 20_000; $n++) {
            $state = Process::state('x');
            $state->run ??= random_int(1, PHP_INT_MAX);
            fwrite($out, "$state->run " . ($state->cursor = 1 + ($state->cursor ?? 0)) . "\n");
            $leave();
            $n % 500 === $i && apcu_delete(new \APCUIterator('/^x \d/')); // as APCu may drop anything
        }
        posix_kill(posix_getpid(), SIGKILL);
    }
    fclose($out);
}
$taken = explode("\n", implode(array_map(stream_get_contents(...), $in)), -1);
check([count($taken), count(array_unique($taken))] === [80_000, 80_000], 'no two requests of PHP-FPM use the same');
$runs = count(array_unique(array_map(intval(...), $taken)));
check($runs > 20 && $runs < 2000, "requests use what others leave, got $runs runs");

Process::state('y');
if (($child = pcntl_fork()) === 0) {
    $leave();
    posix_kill(posix_getpid(), SIGKILL);
}
pcntl_waitpid($child, $status);
check(!apcu_exists('y 0'), 'a child of a fork does not leave what its parent has');
