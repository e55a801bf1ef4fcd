-- Randflake IDs in MariaDB and MySQL, as a BIGINT or a BIGINT UNSIGNED. The key is the variable @randflake_key of a session, as docs/databases.md says.
-- Who opens IDs, or makes them by randflake_next, needs this alone: GRANT EXECUTE ON ids.* TO app, where ids is the database of the functions.
-- A grant of single functions must have those that they call: randflake_unmask for time, node and sequence, randflake_text for randflake_id.
DELIMITER //

-- The round keys of a secret with 32 hexadecimal digits: 33 integers of 20 digits. Each has the keys of a block's words a, b, c and d, from the
-- lowest bits on: of the three rounds of each of eight steps, with a zero after them, and the last ones.
CREATE FUNCTION randflake_key_of(secret VARCHAR(40) CHARACTER SET ascii) RETURNS VARCHAR(660) CHARACTER SET ascii DETERMINISTIC CONTAINS SQL SQL SECURITY INVOKER
BEGIN
  DECLARE w0, w1, w2, w3, w4, w5, w6, w7 BIGINT UNSIGNED; -- the state of the key schedule: eight words
  DECLARE v0, v1, v2, v3, v4, v5 BIGINT UNSIGNED; -- the state before
  DECLARE x, y, z BIGINT UNSIGNED;
  DECLARE i INT DEFAULT 1;
  DECLARE k VARCHAR(660) CHARACTER SET ascii DEFAULT '';
  IF COALESCE(secret, '') NOT REGEXP '^[0-9A-Fa-f]{32}$' THEN
    SIGNAL SQLSTATE '22018' SET MESSAGE_TEXT = 'no randflake secret: want 32 hexadecimal digits';
  END IF;
  SET w0 = CONV(SUBSTR(secret, 1, 4), 16, 10), w1 = CONV(SUBSTR(secret, 5, 4), 16, 10);
  SET w2 = CONV(SUBSTR(secret, 9, 4), 16, 10), w3 = CONV(SUBSTR(secret, 13, 4), 16, 10);
  SET w4 = CONV(SUBSTR(secret, 17, 4), 16, 10), w5 = CONV(SUBSTR(secret, 21, 4), 16, 10);
  SET w6 = CONV(SUBSTR(secret, 25, 4), 16, 10), w7 = CONV(SUBSTR(secret, 29, 4), 16, 10);
  WHILE i <= 16 DO
    IF i % 2 = 0 THEN -- the state before has the keys of a and b in three rounds, and this one those of c and d
      SET k = CONCAT(k, LPAD(v0 | v1 << 16 | w0 << 32 | w1 << 48, 20, '0'));
      SET k = CONCAT(k, LPAD(v2 | v3 << 16 | w2 << 32 | w3 << 48, 20, '0'));
      SET k = CONCAT(k, LPAD(v4 | v5 << 16 | w4 << 32 | w5 << 48, 20, '0'), LPAD(0, 20, '0'));
    END IF;
    SET v0 = w0, v1 = w1, v2 = w2, v3 = w3, v4 = w4, v5 = w5;
    SET x = (((w0 << 9 | w0 >> 7) & 65535) + w1) & 65535;
    SET y = ((w1 << 2 | w1 >> 14) & 65535) ^ x;
    SET z = w6, w6 = w4, w4 = (w2 + x) & 65535, w2 = x, w0 = z;
    SET z = w7, w7 = w5, w5 = (w3 + y) & 65535, w3 = y, w1 = (z + i) & 65535;
    SET i = i + 1;
  END WHILE;
  RETURN CONCAT(k, LPAD(w0 | w1 << 16 | w2 << 32 | w3 << 48, 20, '0'));
END //

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value, by the cipher SPARX-64/128. s has the block's words
-- a, b, c and d, from the lowest bits on, 4294967295 being all of a and b. As IDs are little-endian, the bytes of each word change places
-- first and last: 71777214294589695 is 0x00ff00ff00ff00ff. A round works on a and c at a time, and on b and d: 281470681808895, or
-- 0x0000ffff0000ffff, leaves 16 bits free above each, and w * 65537 >> 16 - n turns each to the left by n.
CREATE FUNCTION randflake_mask(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE i INT DEFAULT 1;
  DECLARE t BIGINT UNSIGNED;
  DECLARE s BIGINT UNSIGNED DEFAULT CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED);
  IF COALESCE(LENGTH(k), 0) <> 660 THEN
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'no randflake key: want what randflake_key_of returns';
  END IF;
  SET s = ((s & 71777214294589695) << 8 | (s >> 8) & 71777214294589695) ^ CAST(SUBSTR(k, 1, 20) AS UNSIGNED);
  WHILE i < 640 DO
    -- Three rounds: a turns by 9, and gets b added; b turns by 2, and gets a mixed in.
    SET t = (((s & 281470681808895) * 65537 >> 7 & 281470681808895) + ((s >> 16) & 281470681808895)) & 281470681808895;
    SET s = (t | (((((s >> 16) & 281470681808895) * 65537 >> 14 & 281470681808895) ^ t) << 16)) ^ CAST(SUBSTR(k, i + 20, 20) AS UNSIGNED);
    SET t = (((s & 281470681808895) * 65537 >> 7 & 281470681808895) + ((s >> 16) & 281470681808895)) & 281470681808895;
    SET s = (t | (((((s >> 16) & 281470681808895) * 65537 >> 14 & 281470681808895) ^ t) << 16)) ^ CAST(SUBSTR(k, i + 40, 20) AS UNSIGNED);
    SET t = (((s & 281470681808895) * 65537 >> 7 & 281470681808895) + ((s >> 16) & 281470681808895)) & 281470681808895;
    SET s = t | (((((s >> 16) & 281470681808895) * 65537 >> 14 & 281470681808895) ^ t) << 16);
    -- The linear layer: a and b change places with c and d, which get both and their sum, turned by 8, mixed in.
    SET t = ((s ^ (s >> 16)) & 281470681808895) * 65537 >> 8 & 281470681808895, i = i + 80;
    SET s = (s >> 32 | (s & 4294967295) << 32) ^ ((s ^ (t | t << 16)) & 4294967295) ^ CAST(SUBSTR(k, i, 20) AS UNSIGNED);
  END WHILE;
  RETURN CAST((s & 71777214294589695) << 8 | (s >> 8) & 71777214294589695 AS SIGNED);
END //

-- The inverse of randflake_mask. 281474976776192, or 0x0001000000010000, is a bit above each word, for subtractions to borrow.
CREATE FUNCTION randflake_unmask(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE i INT DEFAULT 561;
  DECLARE t BIGINT UNSIGNED;
  DECLARE s BIGINT UNSIGNED DEFAULT CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED);
  IF COALESCE(LENGTH(k), 0) <> 660 THEN
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'no randflake key: want what randflake_key_of returns';
  END IF;
  SET s = ((s & 71777214294589695) << 8 | (s >> 8) & 71777214294589695) ^ CAST(SUBSTR(k, 641, 20) AS UNSIGNED);
  WHILE i > 0 DO
    SET t = ((s ^ (s >> 16)) & 281470681808895) * 65537 >> 8 & 281470681808895;
    SET s = (s >> 32 | (s & 4294967295) << 32) ^ ((s ^ (t | t << 16)) & 18446744069414584320);
    SET t = ((s ^ (s >> 16)) & 281470681808895) * 65537 >> 2 & 281470681808895;
    SET s = (((s & 281470681808895) + 281474976776192 - t & 281470681808895) * 65537 >> 9 & 281470681808895 | t << 16) ^ CAST(SUBSTR(k, i + 40, 20) AS UNSIGNED);
    SET t = ((s ^ (s >> 16)) & 281470681808895) * 65537 >> 2 & 281470681808895;
    SET s = (((s & 281470681808895) + 281474976776192 - t & 281470681808895) * 65537 >> 9 & 281470681808895 | t << 16) ^ CAST(SUBSTR(k, i + 20, 20) AS UNSIGNED);
    SET t = ((s ^ (s >> 16)) & 281470681808895) * 65537 >> 2 & 281470681808895;
    SET s = (((s & 281470681808895) + 281474976776192 - t & 281470681808895) * 65537 >> 9 & 281470681808895 | t << 16) ^ CAST(SUBSTR(k, i, 20) AS UNSIGNED);
    SET i = i - 80;
  END WHILE;
  RETURN CAST((s & 71777214294589695) << 8 | (s >> 8) & 71777214294589695 AS SIGNED);
END //

-- When (UTC), where and as which of its second a Randflake ID was made.
CREATE FUNCTION randflake_time(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS DATETIME DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN TIMESTAMPADD(SECOND, 1730000000 + (randflake_unmask(id, k) >> 34), '1970-01-01') //
CREATE FUNCTION randflake_node(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS INT DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN randflake_unmask(id, k) >> 17 & 131071 //
CREATE FUNCTION randflake_sequence(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS INT DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN randflake_unmask(id, k) & 131071 //

-- The text of a BIGINT or BIGINT UNSIGNED, as randflake.ID has it: 13 digits of base32hex, of which the first is a letter, as its first bit
-- is always 1. 1152921504606846975 is the bits of the others. The number without a sign is CAST(id AS UNSIGNED).
CREATE FUNCTION randflake_text(id DECIMAL(20)) RETURNS CHAR(13) CHARACTER SET ascii DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE u BIGINT UNSIGNED DEFAULT CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED);
  RETURN LOWER(CONCAT(CONV(16 | u >> 60, 10, 32), LPAD(CONV(u & 1152921504606846975, 10, 32), 12, '0')));
END //

-- The BIGINT of a text, with the prefix of a typed ID or without. What would not be written so again is an error, which says what the text
-- looks like.
CREATE FUNCTION randflake_id(digits TEXT CHARACTER SET utf8mb4) RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE rest TEXT CHARACTER SET utf8mb4 DEFAULT REGEXP_REPLACE(digits, '(?-i)^[a-z]([a-z0-9_]{0,61}[a-z0-9])?_', '');
  DECLARE id BIGINT UNSIGNED DEFAULT CONV(LEFT(rest, 1), 32, 10) << 60 | CONV(SUBSTR(rest, 2), 32, 10); -- the first bit is shifted out
  DECLARE why VARCHAR(128) CHARACTER SET utf8mb4;
  IF NOT (CAST(rest AS BINARY) <=> CAST(randflake_text(id) AS BINARY)) THEN
    SET why = CONCAT('no randflake ID: ', QUOTE(LEFT(rest, 20)), ': ', CASE
      WHEN rest REGEXP '(?s)^-?[0-9]+(?!.)' THEN 'a decimal number: cast it to BIGINT'
      WHEN rest REGEXP '(?s-i)^[0-9a-f][0-9a-v]{0,12}(?!.)' THEN 'as gosuda/randflake prints it: randflake convert reads it'
      WHEN LENGTH(rest) = 13 AND rest REGEXP '(?-i)[A-Z]' THEN 'has capitals: want lower case'
      ELSE 'want 13 digits of base32hex (0-9, a-v), the first from g to v'
    END);
    SIGNAL SQLSTATE '22018' SET MESSAGE_TEXT = why;
  END IF;
  RETURN CAST(id AS SIGNED);
END //
DELIMITER ;
