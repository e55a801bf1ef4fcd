<?php

declare(strict_types=1);

namespace Randflake;

/** The 128-bit key of one ID space, which opens every ID of it. Dumps of it show nothing; only hex() reveals it. */
final class Secret
{
    use Uncopied;

    /** The key and the round keys of each secret: kept apart, so that var_export and casts don't find them. */
    private static \WeakMap $keys;

    /** Takes 16 bytes; parse reads text. */
    public function __construct(#[\SensitiveParameter] string $key)
    {
        if (PHP_INT_SIZE < 8) {
            throw new \RuntimeException('randflake: want a PHP of 64 bits');
        }
        if (strlen($key) !== 16 || trim($key, "\0") === '') {
            throw new \InvalidArgumentException('randflake: secret: want 16 bytes that are not all zero');
        }
        self::$keys ??= new \WeakMap();
        self::$keys[$this] = [$key, Cipher::expand($key)];
    }

    /** Reads 32 hexadecimal digits, or the base64 of 16 bytes, in either alphabet, with or without padding. */
    public static function parse(#[\SensitiveParameter] string $text): self
    {
        if (preg_match('/^[0-9A-Fa-f]{32}$/D', $text)) {
            return new self(hex2bin($text));
        }
        if (preg_match('~^([0-9A-Za-z+/]{21}|[0-9A-Za-z_-]{21})[AQgw](==)?$~D', $text)) {
            return new self(base64_decode(strtr($text, '-_', '+/')));
        }
        throw new \InvalidArgumentException('randflake: secret: want 32 hexadecimal digits or the base64 of 16 bytes, '
            . 'got ' . strlen($text) . ' characters that are neither');
    }

    /** Reveals the secret, as 32 hexadecimal digits. */
    public function hex(): string
    {
        return bin2hex(self::$keys[$this][0]);
    }

    /** Returns 16 hexadecimal digits by which two programs can compare their secrets without revealing them. */
    public function checkValue(): string
    {
        return substr(hash_hmac('sha256', 'randflake key check value', self::$keys[$this][0]), 0, 16);
    }

    /** Opens an ID. Every int opens to some fields, be it an ID or not. @return array{second: int, node: int, sequence: int} */
    public function inspect(int $id): array
    {
        $raw = Cipher::decrypt(self::$keys[$this][1], $id);
        return ['second' => ($raw >> 34 & 0x3fffffff) + Id::EPOCH, 'node' => $raw >> 17 & Id::MAX_NODE, 'sequence' => $raw & Id::MAX_NODE];
    }

    /** Returns the ID with these fields. It knows nothing of leases: a Generator makes unique IDs. */
    public function compose(int $second, int $node, int $sequence): int
    {
        if ($second < Id::EPOCH || $second > Id::MAX_SECOND || $node !== ($node & Id::MAX_NODE) || $sequence !== ($sequence & Id::MAX_NODE)) {
            throw new \InvalidArgumentException("randflake: want a second from " . Id::EPOCH . " to " . Id::MAX_SECOND
                . ", and a node and a sequence number of 17 bits, got $second, $node, $sequence");
        }
        return $this->encrypt([$second - Id::EPOCH << 34 | $node << 17 | $sequence])[0];
    }

    /** Makes the IDs of raw values. @internal */
    public function encrypt(array $raws): array
    {
        $keys = self::$keys[$this][1];
        foreach ($raws as &$raw) {
            $raw = Cipher::encrypt($keys, $raw);
        }
        return $raws;
    }
}
