
-- IDs in a trigger, as MariaDB has no such functions in a DEFAULT, under a node that nobody else has:
--   CREATE TRIGGER order_ids BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = IF(NEW.id <> 0, NEW.id, randflake_next());
-- The owner sets the secret, and later replaces it, by the first statement, which changes nothing unless the file has a whole secret. The
-- second one lets the event below run until the server stops, so its configuration needs event_scheduler = ON too:
--   LOAD DATA LOCAL INFILE 'secret' REPLACE INTO TABLE randflake_default (@secret) SET node = {{node}}, round_keys = randflake_key_of(@secret);
--   SET GLOBAL event_scheduler = ON;
--   CALL randflake_raise();
CREATE TABLE randflake_default (
  one_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one_row),
  node INT NOT NULL DEFAULT {{node}} CHECK (node BETWEEN 0 AND 131071),
  round_keys VARCHAR(660) CHARACTER SET ascii NOT NULL CHECK (LENGTH(round_keys) = 660)
);

-- Where IDs are: second << 17 | number. It never goes back, so a clock that does makes no ID come again.
CREATE SEQUENCE randflake_cursor MINVALUE 0 MAXVALUE 140737488355327;

DELIMITER //
-- Brings the cursor to the present second. SETVAL never lowers it. It takes only digits, and functions and triggers can't write its text.
-- SET timestamp makes the time of a caller any, so it is only for those who may write the cursor.
CREATE PROCEDURE randflake_raise() MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE clock BIGINT DEFAULT UNIX_TIMESTAMP() - 1730000000;
  EXECUTE IMMEDIATE CONCAT('DO SETVAL(randflake_cursor, ', clock << 17, ', 0)');
END //
CREATE EVENT randflake_second ON SCHEDULE EVERY 1 SECOND DO CALL randflake_raise() //

CREATE FUNCTION randflake_next() RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
  -- In a statement of many rows NOW() stands still, and only SYSDATE() goes on, though it goes back when summer time ends in the session's
  -- time zone: a statement that began before is refused. UUID() has no such zone, but doesn't follow a clock that is set.
  DECLARE clock BIGINT DEFAULT UNIX_TIMESTAMP() + UNIX_TIMESTAMP(SYSDATE()) - UNIX_TIMESTAMP(NOW()) - 1730000000;
  DECLARE place BIGINT DEFAULT NEXTVAL(randflake_cursor);
  DECLARE own INT;
  DECLARE k VARCHAR(660) CHARACTER SET ascii;
  DECLARE waits INT DEFAULT 0;
  SELECT node, round_keys INTO own, k FROM randflake_default;
  -- Where the server has just started, the event runs within a second.
  WHILE place >> 17 < clock - 10 AND @@event_scheduler = 'ON' AND waits < 20 DO
    DO SLEEP(0.1);
    SET place = NEXTVAL(randflake_cursor), waits = waits + 1;
  END WHILE;
  IF place >> 17 > clock + 10 THEN
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'randflake: the clock is behind the newest ID';
  ELSEIF place >> 17 < clock - 10 THEN
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'randflake: the event randflake_second has not run for ten seconds: is event_scheduler ON, and the event ENABLED?';
  END IF;
  RETURN randflake_mask((place >> 17 << 34) | (own << 17) | (place & 131071), k);
END //
DELIMITER ;
