<?php

// php tests/run.php runs all tests, and runs itself with APCu and with PHP-FPM where these are there.

declare(strict_types=1);

use Randflake\{Cipher, Generator, Id, Minter, Secret, Service, ServiceError, System};

require __DIR__ . '/autoload.php';

const SECRET = '00112233445566778899aabbccddeeff';

final class TestSystem extends System
{
    public int $now = 1_800_000_000;
    public float $age = 1000.0;

    public function second(): int
    {
        return $this->now;
    }

    public function monotonic(): float
    {
        return $this->age += 0.0001;
    }
}

/** A service without a network. Leases go from node to node; $grants is a file if processes share it. */
final class TestService extends Service
{
    public array $calls = [];
    public array $errors = []; // for the next calls
    public int $seconds = 300;
    public ?Closure $during = null;

    public function __construct(System $system = new TestSystem(), public ?string $file = null)
    {
        parent::__construct('http://localhost:1', 'test', limit: 2.0, system: $system);
    }

    public function acquire(int $nodes, int $ttl, string $owner, string $check, bool $retry, float $limit): array
    {
        $this->calls[] = ['owner' => $owner, 'retry' => $retry];
        $this->during && ($this->during)($owner);
        if ($error = array_shift($this->errors)) {
            throw new ServiceError($error, 'for a test');
        }
        if ($this->file !== null) {
            usleep(20_000);
            file_put_contents($this->file, "$owner\n", FILE_APPEND | LOCK_EX);
        }
        $node = $this->file !== null ? strlen(file_get_contents($this->file)) / 33 - 1 : count($this->calls) - 1;
        $now = $this->system->second();
        return ['id' => $owner, 'node' => (int) $node, 'start' => $now, 'end' => $now + $this->seconds - 1];
    }

    public function mint(int $count = 1): array
    {
        $this->calls[] = $count;
        return range(1000 * count($this->calls), 1000 * count($this->calls) + $count - 1);
    }
}

function check(bool $so, string $what): void
{
    if (!$so) {
        throw new Exception("want $what");
    }
}

function same(mixed $got, mixed $want, string $what): void
{
    check($got === $want, "$what: got " . var_export($got, true) . ', want ' . var_export($want, true));
}

/** Returns what is thrown. */
function thrown(Closure $run): ?Throwable
{
    try {
        $run();
    } catch (Throwable $e) {
        return $e;
    }
    return null;
}

/** Runs $work in children at the same time. Returns the values that they yield, all together. */
function together(int $children, Closure $work): array
{
    for ($pipes = []; $children-- > 0;) {
        [$in, $out] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $workers[] = $worker = pcntl_fork();
        if ($worker === 0) {
            $e = thrown(function () use ($out, $work, $children) {
                fwrite($out, serialize($work($children)));
            });
            echo $e ? "FAIL in a child: {$e->getMessage()}\n" : '';
            posix_kill(posix_getpid(), SIGKILL);
        }
        fclose($out);
        $pipes[] = $in;
    }
    $all = array_merge(...array_map(fn ($in) => unserialize(stream_get_contents($in)), $pipes));
    array_map(fn (int $worker) => pcntl_waitpid($worker, $status), $workers);
    return $all;
}

function distinct(array $ids, int $count, string $what): void
{
    same(count($ids), $count, "$what: IDs");
    same(count(array_unique($ids)), $count, "$what: distinct IDs");
}

$shared = function_exists('apcu_enabled') && apcu_enabled();
$secret = Secret::parse(SECRET);
$tests = [];

$tests['vectors'] = function () {
    foreach (json_decode(file_get_contents(__DIR__ . '/../../../testdata/sparx64.json'), true)['vectors'] as $v) {
        $keys = Cipher::expand(hex2bin($v['key']));
        [$plain, $cipher] = array_map(fn ($hex) => unpack('P', hex2bin($hex))[1], [$v['plaintext'], $v['ciphertext']]);
        same(Cipher::encrypt($keys, $plain), $cipher, "encrypt $v[plaintext]");
        same(Cipher::decrypt($keys, $cipher), $plain, "decrypt $v[ciphertext]");
    }
    foreach (json_decode(file_get_contents(__DIR__ . '/../../../testdata/randflake.json'), true)['vectors'] as $v) {
        if ($v['secret'] !== str_repeat('0', 32)) {
            $secret = Secret::parse($v['secret']);
            same($secret->compose($v['timestamp'], $v['node'], $v['sequence']), (int) $v['id'], 'compose');
            same(array_values($secret->inspect((int) $v['id'])), [$v['timestamp'], $v['node'], $v['sequence']], 'inspect');
        }
        same(Id::text((int) $v['id']), $v['text'], 'text');
        same(Id::parse($v['text']), (int) $v['id'], 'parse');
    }
    foreach ([[1729999999, 0, 0], [Id::MAX_SECOND + 1, 0, 0], [Id::EPOCH, 1 << 17, 0], [Id::EPOCH, 0, -1]] as $fields) {
        check(thrown(fn () => Secret::parse(SECRET)->compose(...$fields)) instanceof InvalidArgumentException, 'fields to be refused');
    }
};

$tests['text'] = function () {
    same([Id::text(0), Id::text(-1), Id::text(PHP_INT_MIN)], ['0', 'fvvvvvvvvvvvv', '8000000000000'], 'text');
    same([Id::parse('0'), Id::parse('fvvvvvvvvvvvv'), Id::parse('8000000000000')], [0, -1, PHP_INT_MIN], 'parse');
    foreach (['', '00', '01', 'g000000000000', '10000000000000', 'A', 'w', ' 1', "1\n", '+1', '-1', '1=', "1\0", 'ü'] as $text) {
        check(thrown(fn () => Id::parse($text)) instanceof InvalidArgumentException, json_encode($text) . ' to be refused');
    }
};

$tests['secret'] = function () use ($secret) {
    foreach (['ABEiM0RVZneImaq7zN3u/w==', 'ABEiM0RVZneImaq7zN3u_w', strtoupper(SECRET)] as $text) {
        same(Secret::parse($text)->checkValue(), '7ff89b58dbefa2e6', 'check value');
    }
    foreach (['', SECRET . "\n", 'ABEiM0RVZneImaq7zN3u/x==', 'ABEiM0RVZneImaq7zN3u/w=', 'ABEi-0RVZneImaq7zN3u/w', str_repeat('0', 32)] as $text) {
        $e = thrown(fn () => Secret::parse($text));
        check($e instanceof InvalidArgumentException && ($text === '' || !str_contains((string) $e, $text)), 'a refusal without the text');
    }
    $generator = new Generator($service = new Service('http://localhost:1', 'x', 'to-ken'), $secret);
    foreach ([$secret, $generator, $service, new Minter($service)] as $object) {
        ob_start();
        var_dump($object);
        $dumps = ob_get_clean() . print_r($object, true) . @var_export($object, true) . json_encode($object);
        foreach ([SECRET, hex2bin(SECRET), 'to-ken', implode(',', array_slice(unpack('n8', hex2bin(SECRET)), 1, 3))] as $hidden) {
            check(!str_contains($dumps, $hidden), 'no secret in a dump of ' . $object::class);
        }
        check(thrown(fn () => clone $object) instanceof LogicException, 'no copy');
        check(thrown(fn () => serialize($object)) instanceof LogicException, 'no serialization');
    }
    check(thrown(fn () => unserialize('O:19:"Randflake\Generator":0:{}')) instanceof LogicException, 'nothing unserialized');
};

$tests['the rule'] = function () use ($secret) {
    $service = new TestService($system = new TestSystem());
    $generator = new Generator($service, $secret);
    $next = fn (int $n = 1) => array_map(fn ($id) => array_values($secret->inspect($id)), $generator->fill($n));
    $t = $system->now;
    same($next(2), [[$t, 0, 0], [$t, 0, 1]], 'the first IDs');
    $system->now -= 100;
    same($next(), [[$t, 0, 2]], 'a clock before the lease');
    $system->now = $t + 10;
    same($next(), [[$t + 10, 0, 0]], 'a later second');
    $system->now = $t + 5;
    same($next(), [[$t + 10, 0, 1]], 'a clock that steps back');
    same(array_slice($next(131_072), -2), [[$t + 11, 0, 0], [$t + 11, 0, 1]], 'more than a second has places');
    $system->now = $t + 1_000_000;
    same($next(), [[$t + 299, 0, 0]], 'a clock after the lease');
    foreach ([0, -1, 131_073] as $n) {
        check(thrown(fn () => $generator->fill($n)) instanceof InvalidArgumentException, "fill $n to be refused");
    }
    same($next(), [[$t + 299, 0, 1]], 'nothing claimed by them');
    $system->now = $t + 20;
    same($next(131_072)[0], [$t + 20, 1, 0], 'another lease if this one has no places left');
    $system->age += 199.8;
    same($next()[0][1], 1, 'the lease before two thirds');
    $service->errors = ['unavailable', 'unavailable', 'resource_exhausted', 'unavailable'];
    $calls = count($service->calls);
    foreach ([[0.3, 1], [0.8, 1], [0.3, 2], [1.8, 2], [0.3, 3], [3.8, 3], [0.3, 4]] as [$seconds, $want]) {
        $system->age += $seconds;
        same($next()[0][1], 1, 'the old lease goes on after a failure');
        same(count($service->calls) - $calls, $want, 'calls');
    }
    $made = array_slice($service->calls, $calls);
    same(array_column($made, 'retry'), [false, true, true, false], 'retries');
    check($made[0]['owner'] === $made[2]['owner'] && $made[2]['owner'] !== $made[3]['owner'], 'the token of an unknown outcome again');
    $system->age += 94;
    $service->errors = ['permission_denied'];
    same(thrown($next)?->reason, 'permission_denied', 'no ID after the TTL');
    same($next()[0][1], count($service->calls) - 1, 'a new lease');
    check(hexdec(substr(end($service->calls)['owner'], 0, 12)) === $system->now, 'the second in a token');
    $service->errors = ['unavailable'];
    $system->age += 301;
    thrown($next);
    $system->age += 61;
    $next();
    check(!end($service->calls)['retry'], 'a new token after a minute');
};

$tests['minter'] = function () {
    $service = new TestService($system = new TestSystem());
    $minter = new Minter($service);
    $ids = [...$minter->fill(500), ...$minter->fill(100)];
    distinct($ids, 600, 'minter');
    same($service->calls, [512, 512], 'calls');
    $system->age += 301;
    $minter->generate();
    same($service->calls, [512, 512, 512], 'calls after five minutes');
    check(thrown(fn () => $minter->fill(0)) instanceof InvalidArgumentException, 'fill 0 to be refused');
};

$tests['signals'] = function () use ($secret) {
    $generator = new Generator(new TestService(new System()), $secret);
    $ids = [$generator->generate()];
    pcntl_async_signals(true);
    pcntl_signal(SIGUSR1, function () use ($generator, &$ids) {
        $ids[] = $generator->generate();
    });
    $parent = posix_getpid();
    if (($child = pcntl_fork()) === 0) {
        for ($end = microtime(true) + 0.5; microtime(true) < $end; usleep(20)) {
            posix_kill($parent, SIGUSR1);
        }
        posix_kill(posix_getpid(), SIGKILL);
    }
    for ($main = 0; pcntl_waitpid($child, $status, WNOHANG) === 0; $main++) {
        $ids[] = $generator->generate();
    }
    pcntl_async_signals(false);
    check(count($ids) > $main + 100, 'signals in between, got ' . count($ids) - $main);
    distinct($ids, count($ids), 'signals');
};

$tests['fork'] = function () use ($secret, $shared) {
    $service = new TestService(new System(), $file = tempnam('/tmp', 'randflake'));
    $generator = new Generator($service, $secret);
    $ids = $generator->fill(10);
    $theirs = together(2, fn () => $generator->fill(10));
    distinct([...$ids, ...$theirs, ...$generator->fill(10)], 40, 'fork');
    same(count(file($file)), $shared ? 1 : 3, 'leases');
    unlink($file);
};

$apcu['many workers, one lease'] = function () use ($secret) {
    $service = new TestService(new System(), $file = tempnam('/tmp', 'randflake'));
    $ids = together(8, function () use ($service, $secret) {
        $generator = new Generator($service, $secret);
        for ($ids = [], $i = 0; $i < 2000; $i++) {
            array_push($ids, ...$generator->fill(1 + $i % 3));
        }
        return $ids;
    });
    distinct($ids, 8 * (2000 * 2 - 1), 'workers');
    same(count(file($file)), 1, 'leases');
    unlink($file);
};

$apcu['entries that APCu drops'] = function () use ($secret) {
    $service = new TestService(new System(), $file = tempnam('/tmp', 'randflake'));
    $ids = together(6, function (int $i) use ($service, $secret) {
        $generator = new Generator($service, $secret, 1, 299);
        for ($ids = [], $end = microtime(true) + 3; microtime(true) < $end;) {
            $ids[] = $generator->generate();
            if ($i === 0 && count($ids) % 50 === 0) {
                match (random_int(0, 3)) {
                    0 => apcu_clear_cache(),
                    1 => apcu_delete(new APCUIterator('/ cursor /')),
                    2 => apcu_delete(new APCUIterator('/ item$/')),
                    3 => apcu_delete(new APCUIterator('/ lock$/')),
                };
                usleep(1000);
            }
        }
        return $ids;
    });
    check(count($ids) > 1000 && count(file($file)) > 20, 'many IDs and leases, got ' . count($ids) . ' and ' . count(file($file)));
    distinct($ids, count($ids), 'dropped entries');
    unlink($file);
};

$apcu['only one gets the token of an unknown outcome'] = function () use ($secret) {
    $service = new TestService(new System(), $file = tempnam('/tmp', 'randflake'));
    $service->errors = ['unavailable'];
    check(thrown(fn () => (new Generator($service, $secret, 1, 297))->generate()) instanceof ServiceError, 'a failure');
    [['owner' => $owner]] = $service->calls;
    $owners = together(4, function () use ($service, $secret) {
        apcu_delete(new APCUIterator('/ (lock|item)$/'));
        (new Generator($service, $secret, 1, 297))->generate();
        return array_column(array_slice($service->calls, 1), 'owner');
    });
    same(count(array_keys($owners, $owner)), 1, 'the token again');
    unlink($file);
};

$apcu['a worker that dies with the lock'] = function () use ($secret) {
    $service = new TestService(new TestSystem(), $file = tempnam('/tmp', 'randflake'));
    if (($child = pcntl_fork()) === 0) {
        $service->during = fn () => posix_kill(posix_getpid(), SIGKILL);
        (new Generator($service, $secret, 1, 298))->generate();
    }
    pcntl_waitpid($child, $status);
    same((new APCUIterator('/ lock$/'))->getTotalCount(), 1, 'locks');
    $generator = new Generator($service, $secret, 1, 298);
    same(thrown(fn () => $generator->generate())?->reason, 'unavailable', 'to wait for the lock, but no longer than the limit');
    $service->system->age += 2;
    $generator->generate();
    unlink($file);
};

$tests['HTTP'] = function () use (&$children) {
    $ports = [];
    $listen = function (?Closure $answer) use (&$ports, &$children) {
        $server = stream_socket_server('tcp://127.0.0.1:0');
        if ($answer !== null && ($children[] = pcntl_fork()) === 0) {
            for ($connections = 0; $c = stream_socket_accept($server, 60); $connections++) {
                for (;;) {
                    for ($head = ''; !str_ends_with($head, "\r\n\r\n") && ($byte = fread($c, 1)) !== false && $byte !== '';) {
                        $head .= $byte;
                    }
                    if ($head === '' || !preg_match('/content-length: (\d+)/i', $head, $match)) {
                        break;
                    }
                    $answer($c, $head, json_decode(stream_get_contents($c, (int) $match[1]), true), $connections);
                }
            }
            posix_kill(posix_getpid(), SIGKILL);
        }
        $ports[] = $server; // a server that only listens lets callers wait
        return 'http://' . stream_socket_get_name($server, false);
    };
    $says = fn (int $status, string $body, string $more = '') => fn ($c) => fwrite($c, "HTTP/1.1 $status X\r\n{$more}Content-Length: "
        . strlen($body) . "\r\n\r\n$body");
    $good = $listen(fn ($c, $head, $request, $connections) => $says(200, json_encode(['numbers' => ["$connections",
        (string) strpos($head, "\r\nAuthorization: Bearer to-ken\r\n") > 0 ? '1' : '0']]))($c));
    $next = fn (float $limit, string ...$addresses) => (new Service($addresses, 'x', 'to-ken', $limit))->next('c', 2);
    $service = new Service($good, 'x', fn () => 'to-ken');
    same($service->next('c', 2), [0, 1], 'an answer');
    same($service->next('c', 2), [0, 1], 'an answer over the same connection');
    $service = null; // the server has one connection at a time
    $began = microtime(true);
    same($next(2, $silent = $listen(null), 'http://127.0.0.1:1', $good)[1], 1, 'an answer of the third replica');
    check(microtime(true) - $began < 1.2, 'a third of the time for the first replica');
    $drip = $listen(function ($c) {
        for (fwrite($c, "HTTP/1.1 200 X\r\n"); @fwrite($c, 'x'); usleep(100_000));
    });
    $began = microtime(true);
    same(thrown(fn () => $next(0.5, $drip))?->reason, 'unavailable', 'an answer that never ends');
    check(microtime(true) - $began < 1, 'the time limit');
    foreach ([['unavailable', $says(200, str_repeat(' ', 5 << 20) . '{}')], ['unavailable', $says(307, '', "Location: $good/\r\n")],
        ['unavailable', $says(200, 'x')], ['unavailable', $says(200, '{"numbers":["1",2.5]}')], ['unavailable', $says(200, '{"numbers":["1"]}')],
        ['out_of_range', $says(400, '{"code":"out_of_range","message":"a\nb"}')], ['unavailable', $says(401, '{"code":[]}')],
        ['unavailable', $says(404, 'x')], ['data_loss', $says(500, '{"code":"data_loss","message":[]}')],
    ] as [$reason, $answer]) {
        $e = thrown(fn () => $next(2, $address = $listen($answer)));
        same($e?->reason, $reason, 'reason');
        check(!str_contains((string) $e, 'to-ken') && !str_contains($e->getMessage(), "\n"), 'a message of one line, without the token');
        $both = thrown(fn () => same($next(2, $listen($answer), $good)[1], 1, 'the second replica'));
        same($both === null, $reason !== 'out_of_range', "failover after $reason");
    }
    foreach (['ftp://x', 'x', 'http://', 'http://u:p@x', 'http://x?y', "http://x\n", ''] as $address) {
        check(thrown(fn () => new Service($address, 'x')) instanceof InvalidArgumentException, "address $address to be refused");
    }
    check(thrown(fn () => (new Service($good, 'x', "a\nb"))->next('c')) instanceof InvalidArgumentException, 'a token to be refused');
};

$failed = 0;
$children = []; // to be ended
foreach ($shared ? [...$tests, ...$apcu] : $tests as $name => $test) {
    $shared && apcu_clear_cache();
    $e = thrown($test);
    echo $e ? "FAIL $name: {$e->getMessage()} at line {$e->getLine()}\n" : "ok   $name" . ($shared ? ', with APCu' : '') . "\n";
    $failed += $e ? 1 : 0;
    array_map(fn ($child) => posix_kill($child, SIGKILL), $children);
    $children = [];
}
if (!$shared && extension_loaded('apcu')) {
    passthru(PHP_BINARY . ' -d apc.enable_cli=1 ' . __FILE__, $status);
    $failed += $status;
    require __DIR__ . '/fpm.php';
}
exit($failed ? 1 : 0);
