-- MariaDB and MySQL: the text form of a BIGINT, or of a BIGINT UNSIGNED, is LOWER(CONV(id, 10, 32)); the number
-- without a sign is CAST(id AS UNSIGNED). The BIGINT of a text form, of which each ID has one, so that what would not
-- be written so again is an error:
DELIMITER //
CREATE FUNCTION randflake_id(digits TEXT) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  DECLARE id BIGINT UNSIGNED DEFAULT CONV(digits, 32, 10);
  IF CAST(digits AS BINARY) <> CAST(LOWER(CONV(id, 10, 32)) AS BINARY) THEN
    SIGNAL SQLSTATE '22018' SET MESSAGE_TEXT = 'no randflake ID';
  END IF;
  RETURN CAST(id AS SIGNED);
END //
DELIMITER ;
