<?php

declare(strict_types=1);

namespace Randflake;

/** The two forms of an ID: an int, as a BIGINT column holds it, and a text, as the world sees it. */
final class Id
{
    public const EPOCH = 1_730_000_000; // 2024-10-27 03:33:20 UTC
    public const MAX_SECOND = self::EPOCH + (1 << 30) - 1; // the last Unix second that an ID can embed, in 2058
    public const MAX_NODE = (1 << 17) - 1; // and the largest sequence number

    private const DIGITS = '0123456789abcdefghijklmnopqrstuv';

    /** Returns the text: base32hex of the unsigned value, in lower case, without leading zeros. */
    public static function text(int $id): string
    {
        $text = '';
        do {
            $text = self::DIGITS[$id & 31] . $text;
            $id = $id >> 5 & PHP_INT_MAX >> 4; // as an unsigned value
        } while ($id !== 0);
        return $text;
    }

    /** Reads what text returned. Each ID has exactly one text: any other is an InvalidArgumentException. */
    public static function parse(string $text): int
    {
        if (!preg_match('/^(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$/D', $text)) {
            $got = json_encode(substr($text, 0, 40), JSON_INVALID_UTF8_SUBSTITUTE);
            throw new \InvalidArgumentException('randflake: ID: want 1 to 13 digits of base32hex (0-9, a-v), without '
                . "leading zeros, of at most 64 bits, got $got");
        }
        $append = fn (int $id, string $digit) => $id << 5 | strpos(self::DIGITS, $digit);
        return array_reduce(str_split($text), $append, 0);
    }
}

/**
 * The 128-bit key of one ID space, which opens every ID of it by SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov,
 * Großschädl, Biryukov: "Design Strategies for ARX with Provable Bounds: SPARX and LAX", ASIACRYPT 2016): a block is
 * four 16-bit words, two branches (a, b) and (c, d), and is encrypted in eight steps. A step is three rounds on each
 * branch, then the linear layer. The 8 bytes of an int, in little-endian order, are the words in big-endian order.
 */
final class Secret
{
    /** Reads 32 hexadecimal digits, or the base64 of 16 bytes, in either alphabet, with or without padding. */
    public static function parse(#[\SensitiveParameter] string $text): self
    {
        $hex = preg_match('/^[0-9A-Fa-f]{32}$/D', $text);
        $key = $hex ? hex2bin($text) : (string) base64_decode(strtr($text, '-_', '+/'), true);
        if (strlen($key) !== 16 || trim($key, "\0") === '') {
            throw new \InvalidArgumentException('randflake: secret: want 32 hexadecimal digits or the base64 of 16 '
                . 'bytes, not all zero, got a text of ' . strlen($text) . ' characters');
        }
        $checkValue = substr(hash_hmac('sha256', 'randflake key check value', $key), 0, 16);
        return new self($checkValue, new \SensitiveParameterValue(self::expand($key)));
    }

    private function __construct(
        public readonly string $checkValue, // by which two programs can compare their secrets without revealing them
        private readonly \SensitiveParameterValue $roundKeys, // which no dump shows, and nothing serializes
    ) {}

    private function __clone() {}

    /** Opens an ID into second, node and sequence. Every int opens to some fields, be it an ID or not. */
    public function inspect(int $id): array
    {
        $raw = $this->decrypt($id);
        $second = ($raw >> 34 & 0x3fffffff) + Id::EPOCH;
        return ['second' => $second, 'node' => $raw >> 17 & Id::MAX_NODE, 'sequence' => $raw & Id::MAX_NODE];
    }

    /** Returns the ID with these fields. It knows nothing of leases: a Generator makes unique IDs. */
    public function compose(int $second, int $node, int $sequence): int
    {
        if ($second < Id::EPOCH || $second > Id::MAX_SECOND || ($node | $sequence) >> 17 !== 0) {
            throw new \InvalidArgumentException('randflake: want a second from ' . Id::EPOCH . ' to ' . Id::MAX_SECOND
                . ", and a node and a sequence number of 17 bits, got $second, $node, $sequence");
        }
        return $this->encrypt($second - Id::EPOCH << 34 | $node << 17 | $sequence);
    }

    /** Makes the ID of a raw value. @internal */
    public function encrypt(int $raw): int
    {
        $k = $this->roundKeys->getValue();
        ['a' => $a, 'b' => $b, 'c' => $c, 'd' => $d] = unpack('na/nb/nc/nd', pack('P', $raw));
        for ($i = 0; $i < 96; $i += 12) {
            for ($j = $i; $j < $i + 6; $j += 2) {
                $a ^= $k[$j];
                $a = (($a >> 7 | $a << 9) + ($b ^= $k[$j + 1])) & 0xffff;
                $b = (($b << 2 | $b >> 14) & 0xffff) ^ $a;
                $c ^= $k[$j + 6];
                $c = (($c >> 7 | $c << 9) + ($d ^= $k[$j + 7])) & 0xffff;
                $d = (($d << 2 | $d >> 14) & 0xffff) ^ $c;
            }
            $t = $a ^ $b;
            $t = ($t << 8 | $t >> 8) & 0xffff;
            [$a, $b, $c, $d] = [$c ^ $a ^ $t, $d ^ $b ^ $t, $a, $b];
        }
        return unpack('P', pack('n4', $a ^ $k[96], $b ^ $k[97], $c ^ $k[98], $d ^ $k[99]))[1];
    }

    /** Is the inverse of encrypt. */
    private function decrypt(int $id): int
    {
        $k = $this->roundKeys->getValue();
        ['a' => $a, 'b' => $b, 'c' => $c, 'd' => $d] = unpack('na/nb/nc/nd', pack('P', $id));
        [$a, $b, $c, $d] = [$a ^ $k[96], $b ^ $k[97], $c ^ $k[98], $d ^ $k[99]];
        for ($i = 84; $i >= 0; $i -= 12) {
            $t = $c ^ $d;
            $t = ($t << 8 | $t >> 8) & 0xffff;
            [$a, $b, $c, $d] = [$c, $d, $a ^ $c ^ $t, $b ^ $d ^ $t];
            for ($j = $i + 4; $j >= $i; $j -= 2) {
                [$a, $b] = self::unround($a, $b, $k[$j], $k[$j + 1]);
                [$c, $d] = self::unround($c, $d, $k[$j + 6], $k[$j + 7]);
            }
        }
        return unpack('P', pack('n4', $a, $b, $c, $d))[1];
    }

    private static function unround(int $a, int $b, int $forA, int $forB): array
    {
        $b = (($b ^ $a) >> 2 | ($b ^ $a) << 14) & 0xffff;
        $a = ($a - $b) & 0xffff;
        return [(($a << 7 | $a >> 9) & 0xffff) ^ $forA, $b ^ $forB];
    }

    /** Returns the 100 words of round key: for each step six for one branch and six for the other, then four. */
    private static function expand(#[\SensitiveParameter] string $key): array
    {
        $k = array_values(unpack('n8', $key));
        for ($keys = [], $i = 1; $i <= 16; $i++) {
            array_push($keys, ...array_slice($k, 0, 6));
            $k[0] = (($k[0] >> 7 | $k[0] << 9) + $k[1]) & 0xffff;
            $k[1] = (($k[1] << 2 | $k[1] >> 14) & 0xffff) ^ $k[0];
            [$k[2], $k[3], $k[7]] = [($k[2] + $k[0]) & 0xffff, ($k[3] + $k[1]) & 0xffff, ($k[7] + $i) & 0xffff];
            $k = [$k[6], $k[7], ...array_slice($k, 0, 6)];
        }
        return [...$keys, ...array_slice($k, 0, 4)];
    }
}
