<?php

// Reads commands and answers them, as ../../README.md says.

declare(strict_types=1);

namespace Randflake; // whose functions come before those of PHP

require __DIR__ . '/autoload.php';

$ahead = ['clock' => 0, 'age' => 0]; // seconds
define('FAULT', getenv('FAULT'));

function time(): int { return \time() + $GLOBALS['ahead']['clock']; }
function hrtime(): int { return \hrtime(true) + (FAULT === 'end' ? 0 : $GLOBALS['ahead']['age'] * 1_000_000_000); }
function getmypid(): int { return FAULT === 'fork' ? 1 : \getmypid(); }
// This number stands in the page that a fork wipes.
function random_int(int $min, int $max): int { return FAULT === 'fork' ? 1 : \random_int($min, $max); }

final class FaultyService extends Service
{
    public function acquire(array $request, float $limit): array
    {
        $lease = parent::acquire($request, $limit);
        $lease['start'] -= FAULT === 'clamp' ? 9999 : 0;
        $lease['end'] += in_array(FAULT, ['clamp', 'end'], true) ? 9999 : 0;
        return $lease;
    }
}

function set(string $clock, int $seconds): string
{
    $GLOBALS['ahead'][$clock] = $seconds;
    return 'ok';
}

/** Returns IDs of a child and, after it, of this process. */
function fork(string $kind, int $n): string
{
    [$in, $out] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = $kind === 'os' ? pcntl_fork() : \FFI::cdef('int fork(void);')->fork();
    if ($child === 0) {
        fwrite($out, substr(answer("generate $n"), 4));
        posix_kill(posix_getpid(), SIGKILL);
    }
    fclose($out);
    pcntl_waitpid($child, $status);
    return answer("generate $n") . ' ' . stream_get_contents($in);
}

/** Returns how a copy is refused, or nothing where it is made. */
function refusal(\Closure $copy): string
{
    try {
        $copy();
    } catch (\Throwable $error) {
        return 'error copy ' . $error->getMessage();
    }
    return '';
}

function answer(string $line): string
{
    static $service, $secret, $generator, $minter;
    $words = explode(' ', $line);
    $number = fn (int $i) => filter_var($words[$i] ?? '', FILTER_VALIDATE_INT, FILTER_NULL_ON_FAILURE)
        ?? throw new \InvalidArgumentException('want an integer of 64 bits');
    $text = fn (string $text) => FAULT === 'text' ? strrev($text) : $text;
    try {
        $addresses = array_slice(explode(',', getenv('ADDRESSES')), 0, FAULT === 'failover' ? 1 : null);
        $service ??= new FaultyService($addresses, getenv('SPACE'), getenv('TOKEN') ?: null, (float) getenv('LIMIT'));
        $secret ??= Secret::parse(getenv('SECRET'));
        $generator ??= new Generator($service, $secret, (int) getenv('NODES'), (int) getenv('TTL'));
        $minter ??= new Minter($service);
        return implode(' ', match ($words[0]) {
            'generate' => ['ids', ...array_map(fn () => $generator->generate(), array_fill(0, $number(1), 0))],
            'fill' => ['ids', ...$generator->fill($number(1))],
            'fork' => [fork($words[1], $number(2))],
            'copy' => [min(refusal(fn () => clone $generator), refusal(fn () => serialize($generator)),
                refusal(fn () => clone $secret), refusal(fn () => serialize($secret)))],
            'mint' => ['ids', ...$minter->fill($number(1))],
            'next' => ['numbers', ...$service->next($words[1], $number(2))],
            'format' => ['text', $text(Id::text($number(1)))],
            'parse' => ['id', Id::parse($text($words[1]))],
            'inspect' => ['fields', ...array_values($secret->inspect($number(1)))],
            'compose' => ['id', $secret->compose($number(1), $number(2), $number(3))],
            'secret' => ['check', Secret::parse($words[1])->checkValue],
            'clock', 'age' => [set($words[0], $number(1))],
            default => ['unsupported'],
        });
    } catch (ServiceError | \InvalidArgumentException $error) {
        return 'error ' . ($error->reason ?? 'invalid_argument') . ' ' . $error->getMessage();
    }
}

ini_set('memory_limit', '-1');
while (($line = fgets(STDIN)) !== false) {
    echo preg_replace('/\s+/', ' ', answer(rtrim($line, "\r\n"))), "\n";
}
