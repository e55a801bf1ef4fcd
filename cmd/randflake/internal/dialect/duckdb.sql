-- Randflake IDs in DuckDB, from 1.3. The key is a variable: SET VARIABLE randflake_key = randflake_keys(secret).

-- The round keys of a secret with 32 hexadecimal digits.
CREATE MACRO randflake_keys(secret) AS if(regexp_full_match(secret, '[0-9A-Fa-f]{32}'), (
    WITH RECURSIVE {{keys}}
    SELECT list(k ORDER BY i) FROM expanded), error('no randflake secret: want 32 hexadecimal digits'));

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value.
CREATE MACRO randflake_mask(id, key) AS list_transform([list_reduce(key[2:33],
  lambda s, k, i: xor(CASE WHEN i % 4 = 0 THEN {{mix}} ELSE {{round}} END, k),
  xor({{load}}, key[1]))], lambda s: (xor({{store}}, 9223372036854775808)::HUGEINT - 9223372036854775808)::BIGINT)[1];

-- The inverse of randflake_mask.
CREATE MACRO randflake_unmask(id, key) AS list_transform([list_reduce(list_reverse(key[1:32]),
  lambda s, k, i: xor(CASE WHEN i % 4 = 1 THEN {{unmix}} ELSE {{unround}} END, k),
  xor({{load}}, key[33]))], lambda s: (xor({{store}}, 9223372036854775808)::HUGEINT - 9223372036854775808)::BIGINT)[1];

-- When, where and as which of its second a Randflake ID was made.
CREATE MACRO randflake_time(id, key) AS to_timestamp(1730000000 + (randflake_unmask(id, key) >> 34 & 1073741823));
CREATE MACRO randflake_node(id, key) AS randflake_unmask(id, key) >> 17 & 131071;
CREATE MACRO randflake_sequence(id, key) AS randflake_unmask(id, key) & 131071;
