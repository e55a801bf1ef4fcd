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
            throw new \InvalidArgumentException('randflake: ID: want 1 to 13 digits of base32hex (0-9, a-v), without '
                . 'leading zeros, of at most 64 bits, got ' . json_encode(substr($text, 0, 40), JSON_INVALID_UTF8_SUBSTITUTE));
        }
        for ($id = 0, $i = 0; $i < strlen($text); $i++) {
            $id = $id << 5 | strpos(self::DIGITS, $text[$i]);
        }
        return $id;
    }
}
