<?php

// Reads commands and answers them, as ../README.md says.

declare(strict_types=1);

use Randflake\{Generator, Id, Minter, Secret, Service, ServiceError, System};

require __DIR__ . '/autoload.php';

final class Clocks extends System
{
    public int $clock = 0;
    public int $age = 0;

    public function second(): int
    {
        return time() + $this->clock;
    }

    public function monotonic(): float
    {
        return parent::monotonic() + (getenv('FAULT') === 'end' ? 0 : $this->age);
    }

    public function process(): string
    {
        return getenv('FAULT') === 'fork' ? '' : parent::process();
    }
}

final class FaultyService extends Service
{
    public function acquire(int $nodes, int $ttl, string $owner, string $check, bool $retry, float $limit): array
    {
        $lease = parent::acquire($nodes, $ttl, $owner, $check, $retry, $limit);
        return getenv('FAULT') === 'end' ? ['end' => $lease['end'] + 1_000_000] + $lease : $lease;
    }
}

final class FaultyGenerator extends Generator
{
    protected function raw(array $lease, int $p, int $places): int
    {
        global $system;
        $ahead = max(0, $system->second() - $lease['end']) ?: min(0, $system->second() - $lease['start']);
        return parent::raw($lease, $p, $places) + (getenv('FAULT') === 'clamp' ? $ahead << 34 : 0);
    }
}

function number(string $text): int
{
    $number = filter_var($text, FILTER_VALIDATE_INT);
    return $number !== false ? $number : throw new InvalidArgumentException('want an integer of 64 bits');
}

function copies(object ...$originals): string
{
    foreach ($originals as $original) {
        foreach ([fn () => clone $original, fn () => serialize($original)] as $copy) {
            try {
                $copy();
                return 'copied';
            } catch (LogicException $e) {
                $refusal = $e->getMessage();
            }
        }
    }
    return "error copy $refusal";
}

/** Returns the IDs of a child and, after it, those of this process. */
function forked(string $kind, int $n): string
{
    if ($kind === 'os' ? !function_exists('pcntl_fork') : !extension_loaded('ffi')) {
        return 'unsupported';
    }
    [$in, $out] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = $kind === 'os' ? pcntl_fork() : FFI::cdef('int fork(void);')->fork();
    if ($child === 0) {
        fwrite($out, answer("generate $n"));
        posix_kill(posix_getpid(), SIGKILL);
    }
    fclose($out);
    $theirs = stream_get_contents($in);
    FFI::cdef('int waitpid(int, int *, int);')->waitpid($child, null, 0);
    $ours = answer("generate $n");
    return str_starts_with($theirs, 'ids') && str_starts_with($ours, 'ids') ? $theirs . substr($ours, 3) : "$theirs $ours";
}

function answer(string $line): string
{
    global $service, $secret, $generator, $minter, $system;
    [$command, $rest] = explode(' ', $line, 2) + ['', ''];
    $words = explode(' ', $rest);
    try {
        $service ??= new FaultyService(array_slice(explode(',', getenv('ADDRESSES')), 0, getenv('FAULT') === 'failover' ? 1 : null),
            getenv('SPACE'), getenv('TOKEN') ?: null, (float) (getenv('LIMIT') ?: 10), [], $system);
        $secret ??= Secret::parse(getenv('SECRET'));
        $generator ??= new FaultyGenerator($service, $secret, number(getenv('NODES')), number(getenv('TTL')));
        $minter ??= new Minter($service);
        switch ($command) {
            case 'generate':
                for ($ids = [], $n = number($rest); $n > 0; $n--) {
                    $ids[] = $generator->generate();
                }
                return implode(' ', ['ids', ...$ids]);
            case 'fill':
                return implode(' ', ['ids', ...$generator->fill(number($rest))]);
            case 'fork':
                return forked($words[0], number($words[1]));
            case 'copy':
                return copies($generator, $secret, $minter, $service);
            case 'mint':
                return implode(' ', ['ids', ...$minter->fill(number($rest))]);
            case 'next':
                return implode(' ', ['numbers', ...$service->next($words[0], number($words[1]))]);
            case 'format':
                $text = Id::text(number($rest));
                return 'text ' . (getenv('FAULT') === 'text' ? strrev($text) : $text);
            case 'parse':
                return 'id ' . Id::parse(getenv('FAULT') === 'text' ? strrev($rest) : $rest);
            case 'inspect':
                return implode(' ', ['fields', ...array_values($secret->inspect(number($rest)))]);
            case 'compose':
                return 'id ' . $secret->compose(...array_map(number(...), $words));
            case 'secret':
                return 'check ' . Secret::parse($rest)->checkValue();
            case 'clock':
                $system->clock = number($rest);
                return 'ok';
            case 'age':
                $system->age = number($rest);
                return 'ok';
        }
        return 'unsupported';
    } catch (ServiceError $e) {
        return "error $e->reason {$e->getMessage()}";
    } catch (InvalidArgumentException $e) {
        return "error invalid_argument {$e->getMessage()}";
    }
}

ini_set('memory_limit', '-1');
$system = new Clocks();
while (($line = fgets(STDIN)) !== false) {
    echo preg_replace('/\s+/', ' ', answer(rtrim($line, "\r\n"))), "\n";
}
