<?php

declare(strict_types=1);

namespace Randflake;

/**
 * randflaked refused, or did not answer. $reason is a code of https://connectrpc.com/docs/protocol, "unavailable" if
 * there was no answer. $unknown is whether what was asked for may have been done.
 */
final class ServiceError extends \RuntimeException
{
    public function __construct(
        string $message,
        public readonly string $reason = 'unavailable',
        public bool $unknown = true,
    ) {
        parent::__construct("randflake: $message ($reason)");
    }
}

/** Calls one space of randflaked, through any of its replicas, over connections that are kept. */
class Service
{
    private const LONGEST_ANSWER = 1 << 22; // bytes
    private const FINAL = ['invalid_argument', 'not_found', 'already_exists', 'permission_denied', 'unauthenticated',
        'resource_exhausted', 'failed_precondition', 'out_of_range', 'unimplemented']; // any replica would say the same

    private readonly \SensitiveParameterValue $private; // the token, and options that may have a password
    private int $turn = 0; // the replica that answered last
    private array $curls = []; // by process, as a parent's connections are not for its child

    /**
     * @param string[] $addresses URLs such as "https://ids.internal:8443", of replicas
     * @param string|\Closure|null $token a bearer token, or what returns the one to use now
     * @param float $limit seconds for a call, all replicas together
     * @param array $curlOptions such as CURLOPT_CAINFO for a private authority, CURLOPT_SSLCERT for a certificate
     */
    public function __construct(
        public readonly array $addresses,
        public readonly string $space,
        #[\SensitiveParameter] string|\Closure|null $token = null,
        public readonly float $limit = 10.0,
        #[\SensitiveParameter] array $curlOptions = [],
    ) {
        $good = preg_grep('~^https?://[^/?#@\s][^?#@\s]*$~D', $addresses);
        if (!$addresses || $good !== array_values($addresses) || !($limit > 0)) {
            throw new \InvalidArgumentException('randflake: want a list of addresses such as https://ids.internal:8443 '
                . 'without user and query, and a time limit of more than 0 seconds');
        }
        $this->private = new \SensitiveParameterValue([$token, $curlOptions]);
    }

    /** Has the service make up to 65,536 IDs. Those of an answer that is lost are lost. @return int[] */
    public function mint(int $count = 1): array
    {
        return $this->numbers('IDService/Mint', ['space' => $this->space, 'form' => 'FORM_NUMBER'], $count);
    }

    /** Takes up to 65,536 numbers of a counter, in order. Those of an answer that is lost are lost. @return int[] */
    public function next(string $counter, int $count = 1): array
    {
        return $this->numbers('CounterService/Next', ['counter' => $counter], $count);
    }

    private function numbers(string $procedure, array $fields, int $count): array
    {
        self::count($count);
        $read = fn (mixed $answer) => self::integers($answer['numbers'] ?? [], $count);
        return $this->call($procedure, $fields + ['count' => $count], $read, $this->limit);
    }

    /** Leases nodes. @return array{node: int, start: int, end: int} end is the last second @internal */
    public function acquire(array $request, float $limit): array
    {
        $read = function (mixed $answer) use ($request): array {
            $value = fn (string $name) => $answer['lease'][$name] ?? 0;
            $integers = array_map($value, ['firstNode', 'lastNode', 'start', 'highWater']);
            [$node, $last, $start, $end] = self::integers($integers, 4);
            $fits = $value('owner') === $request['owner'] && $last - $node + 1 === $request['nodes'] && 0 <= $node
                && $last <= Id::MAX_NODE && Id::EPOCH <= $start && $start <= $end && $end <= Id::MAX_SECOND;
            return $fits ? ['node' => $node, 'start' => $start, 'end' => $end]
                : throw new ServiceError('an answer without the lease that was asked for');
        };
        return $this->call('LeaseService/Acquire', ['space' => $this->space] + $request, $read, $limit);
    }

    /** Asks one replica after the other. $read reads an answer, or throws. */
    private function call(string $procedure, array $fields, \Closure $read, float $limit): array
    {
        $end = Process::now() + $limit;
        for ($left = count($this->addresses); $left > 0; $left--) {
            try {
                return $read($this->ask($procedure, $fields, ($end - Process::now()) / $left));
            } catch (ServiceError $error) {
                if (!$error->unknown) {
                    $error->unknown = $left < count($this->addresses); // a replica before may have done it
                    throw $error;
                }
            }
            $this->turn = ($this->turn + 1) % count($this->addresses);
            $fields = isset($fields['retry']) ? ['retry' => true] + $fields : $fields;
        }
        throw $error;
    }

    private function ask(string $procedure, array $fields, float $limit): mixed
    {
        [$token, $options] = $this->private->getValue();
        $token = $token instanceof \Closure ? $token() : $token;
        if ($token !== null && !preg_match('/^[!-~]+$/D', $token)) {
            throw new \InvalidArgumentException('randflake: token: want visible ASCII characters');
        }
        $url = rtrim($this->addresses[$this->turn], '/') . "/randflake.v1.$procedure";
        $text = '';
        curl_reset($curl = $this->curls[Process::mark()] ??= curl_init());
        curl_setopt_array($curl, $options + [
            CURLOPT_URL => $url,
            CURLOPT_POSTFIELDS => json_encode($fields, JSON_THROW_ON_ERROR),
            CURLOPT_HTTPHEADER => ['Content-Type: application/json', 'Connect-Protocol-Version: 1',
                ...($token === null ? [] : ["Authorization: Bearer $token"])],
            CURLOPT_NOPROXY => '*',
            CURLOPT_NOSIGNAL => true,
            CURLOPT_TIMEOUT_MS => max(1, (int) ($limit * 1000)),
            CURLOPT_WRITEFUNCTION => static function ($_, string $part) use (&$text): int {
                return strlen($text .= $part) <= self::LONGEST_ANSWER ? strlen($part) : -1;
            },
        ]);
        if (!curl_exec($curl)) {
            throw new ServiceError("$url: no answer: " . curl_error($curl));
        }
        $answer = json_decode($text, true, 32, JSON_BIGINT_AS_STRING);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        if ($status === 200) {
            return $answer;
        }
        $known = ['options' => ['regexp' => '/^[a-z_]{1,30}$/D']];
        $code = filter_var($answer['code'] ?? '', FILTER_VALIDATE_REGEXP, $known) ?: 'unavailable';
        $message = is_string($answer['message'] ?? null) ? $answer['message'] : '';
        $message = str_replace((string) $token, '[token]', $message);
        $message = substr(json_encode($message, JSON_UNESCAPED_SLASHES), 0, 300); // in one line
        throw new ServiceError("$url: status $status: $message", $code, !in_array($code, self::FINAL, true));
    }

    /** Reads integers by the JSON mapping of protobuf: those of 64 bits are texts. */
    private static function integers(mixed $values, int $count): array
    {
        $integers = (array) filter_var($values, FILTER_VALIDATE_INT, FILTER_REQUIRE_ARRAY);
        $good = count($integers) === $count && array_filter($integers, is_int(...)) === $integers;
        return $good ? array_values($integers)
            : throw new ServiceError("an answer without $count integers");
    }

    /** Checks a count of IDs or numbers. @internal */
    public static function count(int $count, int $most = 65_536): void
    {
        if ($count < 1 || $count > $most) {
            throw new \InvalidArgumentException("randflake: count $count: want 1 to $most");
        }
    }
}
