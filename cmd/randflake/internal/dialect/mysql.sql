-- Randflake IDs in MariaDB and MySQL, as a BIGINT or a BIGINT UNSIGNED. The key is the variable @randflake_key of a session, as docs/databases.md says.
DELIMITER //

-- The round keys of a secret with 32 hexadecimal digits: 33 integers of 20 digits.
CREATE FUNCTION randflake_keys(secret VARCHAR(40) CHARACTER SET ascii) RETURNS VARCHAR(660) CHARACTER SET ascii DETERMINISTIC CONTAINS SQL
BEGIN
  IF COALESCE(secret, '') NOT REGEXP '^[0-9A-Fa-f]{32}$' THEN
    SIGNAL SQLSTATE '22018' SET MESSAGE_TEXT = 'no randflake secret: want 32 hexadecimal digits';
  END IF;
  RETURN (
    WITH RECURSIVE {{keys}}
    SELECT GROUP_CONCAT(LPAD(k, 20, '0') ORDER BY i SEPARATOR '') FROM expanded);
END //

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value.
CREATE FUNCTION randflake_mask(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  DECLARE i INT DEFAULT 1;
  DECLARE t BIGINT UNSIGNED;
  DECLARE s BIGINT UNSIGNED;
  IF COALESCE(LENGTH(k), 0) <> 660 THEN
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'no randflake key: want what randflake_keys returns';
  END IF;
  SET s = {{load}} ^ CAST(SUBSTR(k, 1, 20) AS UNSIGNED);
  WHILE i < 640 DO
    SET t = {{round t}}, s = {{round}} ^ CAST(SUBSTR(k, i + 20, 20) AS UNSIGNED);
    SET t = {{round t}}, s = {{round}} ^ CAST(SUBSTR(k, i + 40, 20) AS UNSIGNED);
    SET t = {{round t}}, s = {{round}}, i = i + 80;
    SET t = {{mix t}}, s = {{mix}} ^ CAST(SUBSTR(k, i, 20) AS UNSIGNED);
  END WHILE;
  RETURN CAST({{store}} AS SIGNED);
END //

-- The inverse of randflake_mask.
CREATE FUNCTION randflake_unmask(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  DECLARE i INT DEFAULT 561;
  DECLARE t BIGINT UNSIGNED;
  DECLARE s BIGINT UNSIGNED;
  IF COALESCE(LENGTH(k), 0) <> 660 THEN
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'no randflake key: want what randflake_keys returns';
  END IF;
  SET s = {{load}} ^ CAST(SUBSTR(k, 641, 20) AS UNSIGNED);
  WHILE i > 0 DO
    SET t = {{mix t}}, s = {{unmix}};
    SET t = {{unround t}}, s = {{unround}} ^ CAST(SUBSTR(k, i + 40, 20) AS UNSIGNED);
    SET t = {{unround t}}, s = {{unround}} ^ CAST(SUBSTR(k, i + 20, 20) AS UNSIGNED);
    SET t = {{unround t}}, s = {{unround}} ^ CAST(SUBSTR(k, i, 20) AS UNSIGNED), i = i - 80;
  END WHILE;
  RETURN CAST({{store}} AS SIGNED);
END //

-- When (UTC), where and as which of its second a Randflake ID was made.
CREATE FUNCTION randflake_time(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS DATETIME DETERMINISTIC NO SQL
  RETURN TIMESTAMPADD(SECOND, 1730000000 + (randflake_unmask(id, k) >> 34), '1970-01-01') //
CREATE FUNCTION randflake_node(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS INT DETERMINISTIC NO SQL
  RETURN randflake_unmask(id, k) >> 17 & 131071 //
CREATE FUNCTION randflake_sequence(id DECIMAL(20), k VARCHAR(660) CHARACTER SET ascii) RETURNS INT DETERMINISTIC NO SQL
  RETURN randflake_unmask(id, k) & 131071 //

-- MariaDB and MySQL: the text form of a BIGINT, or of a BIGINT UNSIGNED, is LOWER(CONV(id, 10, 32)); the number
-- without a sign is CAST(id AS UNSIGNED). The BIGINT of a text form, of which each ID has one, so that what would not
-- be written so again is an error:
CREATE FUNCTION randflake_id(digits TEXT CHARACTER SET utf8mb4) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  DECLARE rest TEXT CHARACTER SET utf8mb4 DEFAULT REGEXP_REPLACE(digits, '(?-i)^[a-z]([a-z0-9_]*[a-z0-9])?_', ''); -- of a typed ID
  DECLARE id BIGINT UNSIGNED DEFAULT CONV(rest, 32, 10);
  IF NOT (CAST(rest AS BINARY) <=> CAST(LOWER(CONV(id, 10, 32)) AS BINARY)) THEN
    SIGNAL SQLSTATE '22018' SET MESSAGE_TEXT = 'no randflake ID';
  END IF;
  RETURN CAST(id AS SIGNED);
END //
DELIMITER ;
