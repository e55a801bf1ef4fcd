<?php

declare(strict_types=1);

namespace Randflake;

/**
 * SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable
 * Bounds: SPARX and LAX", ASIACRYPT 2016): a block is four 16-bit words, two branches (a, b) and (c, d), and is
 * encrypted in eight steps. A step is three rounds on each branch, then the linear layer.
 *
 * A block is an int whose 8 bytes, in little-endian order, are the words in big-endian order.
 *
 * @internal
 */
final class Cipher
{
    /** Returns the 100 words of round key: for each step six for one branch and six for the other, then four. */
    public static function expand(#[\SensitiveParameter] string $key): array
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

    public static function encrypt(#[\SensitiveParameter] array $k, int $block): int
    {
        ['a' => $a, 'b' => $b, 'c' => $c, 'd' => $d] = unpack('na/nb/nc/nd', pack('P', $block));
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
    public static function decrypt(#[\SensitiveParameter] array $k, int $block): int
    {
        ['a' => $a, 'b' => $b, 'c' => $c, 'd' => $d] = unpack('na/nb/nc/nd', pack('P', $block));
        [$a, $b, $c, $d] = [$a ^ $k[96], $b ^ $k[97], $c ^ $k[98], $d ^ $k[99]];
        for ($i = 84; $i >= 0; $i -= 12) {
            $t = $c ^ $d;
            $t = ($t << 8 | $t >> 8) & 0xffff;
            [$a, $b, $c, $d] = [$c, $d, $a ^ $c ^ $t, $b ^ $d ^ $t];
            for ($j = $i + 4; $j >= $i; $j -= 2) {
                [$b, $d] = [$b ^ $a, $d ^ $c];
                [$b, $d] = [($b >> 2 | $b << 14) & 0xffff, ($d >> 2 | $d << 14) & 0xffff];
                [$a, $c] = [($a - $b) & 0xffff, ($c - $d) & 0xffff];
                [$a, $c] = [(($a << 7 | $a >> 9) & 0xffff) ^ $k[$j], (($c << 7 | $c >> 9) & 0xffff) ^ $k[$j + 6]];
                [$b, $d] = [$b ^ $k[$j + 1], $d ^ $k[$j + 7]];
            }
        }
        return unpack('P', pack('n4', $a, $b, $c, $d))[1];
    }
}
