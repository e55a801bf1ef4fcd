<?php

declare(strict_types=1);

namespace Randflake;

/** Calls one space of randflaked, through any of its replicas, over connections that are kept. */
class Service
{
    use Uncopied;

    private const LONGEST_ANSWER = 1 << 22; // bytes

    public readonly array $addresses;
    private readonly \Closure $token;
    private int $turn = 0; // the replica that answered last
    private ?\CurlHandle $curl = null;
    private string $process = ''; // whose connections they are

    /**
     * @param string|string[] $addresses URLs such as "https://ids.internal:8443", of replicas
     * @param string|\Closure|null $token a bearer token, or what returns the one to use now
     * @param float $limit seconds for a call, all replicas together
     * @param array $curlOptions CURLOPT_CAINFO for a private authority, CURLOPT_SSLCERT for a client certificate and so on
     */
    public function __construct(
        string|array $addresses,
        public readonly string $space,
        #[\SensitiveParameter] string|\Closure|null $token = null,
        public readonly float $limit = 10.0,
        private readonly array $curlOptions = [],
        public readonly System $system = new System(),
    ) {
        foreach ((array) $addresses as $address) {
            if (!preg_match('~^https?://[^/?#@\s\\\\]+(/[^?#@\s\\\\]*)?$~D', $address) || !parse_url($address, PHP_URL_HOST)) {
                throw new \InvalidArgumentException('randflake: address: want one such as https://ids.internal:8443, without user and query');
            }
        }
        if (!$addresses || !($limit > 0)) {
            throw new \InvalidArgumentException('randflake: want an address at least, and a time limit');
        }
        $this->addresses = array_map(fn ($address) => rtrim($address, '/'), array_values((array) $addresses));
        $this->token = $token instanceof \Closure ? $token : static fn () => $token;
    }

    /** Has the service make up to 65,536 IDs. Those of an answer that is lost are lost. @return int[] */
    public function mint(int $count = 1): array
    {
        return $this->call('IDService/Mint', ['space' => $this->space, 'count' => self::count($count), 'form' => 'FORM_NUMBER'],
            fn (array $answer) => self::numbers($answer, $count), $this->limit);
    }

    /** Takes up to 65,536 numbers of a counter, in order. Those of an answer that is lost are lost. @return int[] */
    public function next(string $counter, int $count = 1): array
    {
        return $this->call('CounterService/Next', ['counter' => $counter, 'count' => self::count($count)],
            fn (array $answer) => self::numbers($answer, $count), $this->limit);
    }

    /** Leases nodes. @return array{id: string, node: int, start: int, end: int} end is its last second @internal */
    public function acquire(int $nodes, int $ttl, string $owner, string $check, bool $retry, float $limit): array
    {
        return $this->call('LeaseService/Acquire', ['space' => $this->space, 'nodes' => $nodes, 'ttlSeconds' => $ttl,
            'owner' => $owner, 'check' => $check, 'retry' => $retry], function (array $answer) use ($nodes, $owner): array {
                $lease = is_array($answer['lease'] ?? null) ? $answer['lease'] : [];
                [$node, $last, $start, $end] = array_map(fn ($name) => self::integer($lease[$name] ?? 0), ['firstNode', 'lastNode', 'start', 'highWater']);
                return ($lease['owner'] ?? '') === $owner && $node >= 0 && $last === $node + $nodes - 1 && $last <= Id::MAX_NODE
                    && $start >= Id::EPOCH && $end >= $start && $end <= Id::MAX_SECOND
                    ? ['id' => $owner, 'node' => $node, 'start' => $start, 'end' => $end]
                    : throw new ServiceError('unavailable', 'randflaked answered with a lease that was not asked for');
            }, $limit);
    }

    /** Asks one replica after the other. $read reads an answer, or throws. */
    private function call(string $procedure, array $fields, \Closure $read, float $limit): array
    {
        for ($left = count($this->addresses), $end = $this->system->monotonic() + $limit;;) {
            try {
                return $read($this->ask($procedure, json_encode($fields, JSON_THROW_ON_ERROR), ($end - $this->system->monotonic()) / $left));
            } catch (ServiceError $error) {
                if (!$error->unknown()) {
                    throw $error;
                }
                $this->turn = ($this->turn + 1) % count($this->addresses);
                if (--$left === 0 || $this->system->monotonic() >= $end) {
                    throw $error;
                }
                $fields = array_key_exists('retry', $fields) ? ['retry' => true] + $fields : $fields;
            }
        }
    }

    private function ask(string $procedure, string $body, float $limit): array
    {
        if ($this->process !== $process = $this->system->process()) { // a parent's connections are not for its child
            [$this->curl, $this->process] = [null, $process];
        }
        $headers = ['Content-Type: application/json', 'Connect-Protocol-Version: 1', 'Expect:'];
        if (($token = ($this->token)()) !== null) {
            $headers[] = preg_match('/^[!-~]+$/D', $token) ? "Authorization: Bearer $token"
                : throw new \InvalidArgumentException('randflake: token: want visible ASCII characters');
        }
        $address = $this->addresses[$this->turn];
        $text = '';
        curl_reset($curl = $this->curl ??= curl_init());
        curl_setopt_array($curl, $this->curlOptions + [
            CURLOPT_URL => "$address/randflake.v1.$procedure",
            CURLOPT_POSTFIELDS => $body,
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_NOPROXY => '*',
            CURLOPT_NOSIGNAL => true,
            CURLOPT_TIMEOUT_MS => max(1, (int) ($limit * 1000)),
            CURLOPT_WRITEFUNCTION => static function ($_, string $part) use (&$text): int {
                return strlen($text .= $part) <= self::LONGEST_ANSWER ? strlen($part) : -1;
            },
        ]);
        $where = "$procedure at " . parse_url($address, PHP_URL_HOST);
        if (!curl_exec($curl)) {
            throw new ServiceError('unavailable', "$where: no answer: " . curl_error($curl));
        }
        $answer = json_decode($text, true, 32, JSON_BIGINT_AS_STRING);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        if ($status === 200 && is_array($answer)) {
            return $answer;
        }
        $told = fn (string $name, string $form) => $status !== 200 && is_array($answer) && is_string($answer[$name] ?? null)
            && preg_match($form, $answer[$name]) ? $answer[$name] : null;
        throw new ServiceError($told('code', '/^[a-z_]{1,30}$/D') ?? 'unavailable', "$where: status $status: "
            . substr(preg_replace('/[^ -~]+/', ' ', $told('message', '//') ?? 'no message of randflaked'), 0, 300));
    }

    /** Checks a count of IDs or numbers. @internal */
    public static function count(int $count, int $most = 65_536): int
    {
        return $count >= 1 && $count <= $most ? $count : throw new \InvalidArgumentException("randflake: count $count: want 1 to $most");
    }

    private static function numbers(array $answer, int $count): array
    {
        $numbers = is_array($answer['numbers'] ?? null) ? array_values($answer['numbers']) : [];
        return count($numbers) === $count ? array_map(self::integer(...), $numbers)
            : throw new ServiceError('unavailable', 'randflaked answered with ' . count($numbers) . " numbers, want $count");
    }

    /** Reads an integer by the JSON mapping of protobuf: one of 64 bits is a text. */
    private static function integer(mixed $value): int
    {
        return is_int($value) || is_string($value) && (string) (int) $value === $value ? (int) $value
            : throw new ServiceError('unavailable', 'randflaked answered with something other than an integer');
    }
}
