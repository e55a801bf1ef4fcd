-- Randflake IDs in ClickHouse, from 23.10. The key is randflake_keys(secret), with the secret from a query parameter.

-- The round keys of a secret with 32 hexadecimal digits.
CREATE FUNCTION randflake_keys AS (secret) -> if(throwIf(NOT match(secret, '^[0-9A-Fa-f]{32}$'), 'no randflake secret: want 32 hexadecimal digits') = 0, arrayMap(w -> arrayMap(i -> multiIf(
    i = 32, w[129] + w[130] * 65536 + w[131] * 4294967296 + w[132] * 281474976710656,
    i % 4 = 3, 0,
    w[16 * intDiv(i, 4) + 2 * (i % 4) + 1] + w[16 * intDiv(i, 4) + 2 * (i % 4) + 2] * 65536
      + w[16 * intDiv(i, 4) + 2 * (i % 4) + 9] * 4294967296 + w[16 * intDiv(i, 4) + 2 * (i % 4) + 10] * 281474976710656),
  range(33)), [arrayFold((w, i) -> arrayMap((w0, w1, w2, w3, w4, w5, w6, w7) -> arrayConcat(w, [{{next}}]),
    [w[-8]], [w[-7]], [w[-6]], [w[-5]], [w[-4]], [w[-3]], [w[-2]], [w[-1]])[1], range(1, 17), [{{start}}])])[1], []);

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value.
CREATE FUNCTION randflake_mask AS (id, key) -> arrayMap(s -> toInt64({{store}}), [arrayFold(
  (s, k, i) -> bitXor(if(i % 4 = 3, {{mix}}, {{round}}), k),
  arraySlice(key, 2), range(32), bitXor({{load}}, key[1]))])[1];

-- The inverse of randflake_mask.
CREATE FUNCTION randflake_unmask AS (id, key) -> arrayMap(s -> toInt64({{store}}), [arrayFold(
  (s, k, i) -> bitXor(if(i % 4 = 0, {{unmix}}, {{unround}}), k),
  arrayReverse(arraySlice(key, 1, 32)), range(32), bitXor({{load}}, key[33]))])[1];

-- When, where and as which of its second a Randflake ID was made.
CREATE FUNCTION randflake_time AS (id, key) -> toDateTime(1730000000 + bitAnd(bitShiftRight(randflake_unmask(id, key), 34), 1073741823), 'UTC');
CREATE FUNCTION randflake_node AS (id, key) -> bitAnd(bitShiftRight(randflake_unmask(id, key), 17), 131071);
CREATE FUNCTION randflake_sequence AS (id, key) -> bitAnd(randflake_unmask(id, key), 131071);
