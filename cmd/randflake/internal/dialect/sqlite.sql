-- Randflake IDs in SQLite, where functions can't be made in SQL: queries of a column id in a table ids, to be adapted.
-- Only this connection sees the key.
CREATE TEMP TABLE randflake_key (i INTEGER PRIMARY KEY, k INTEGER);

-- Expands a secret with 32 hexadecimal digits, which is a parameter.
WITH RECURSIVE digits(digit) AS (VALUES (1), (2), (3), (4)), {{keys}}
INSERT INTO randflake_key SELECT i, k FROM expanded WHERE length(:secret) = 32 AND :secret NOT GLOB '*[^0-9a-fA-F]*';

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value.
SELECT id, (
  WITH RECURSIVE state(i, s) AS (
    SELECT 0, {{load ^ k}} FROM temp.randflake_key WHERE i = 0
    UNION ALL
    SELECT state.i + 1, CASE WHEN state.i % 4 = 3 THEN {{mix ^ k}} ELSE {{round ^ k}} END
    FROM state JOIN temp.randflake_key r ON r.i = state.i + 1)
  SELECT {{store}} FROM state WHERE i = 32
) AS masked FROM ids;

-- The inverse, and when (UTC), where and as which of its second a Randflake ID was made.
SELECT id, unmasked, datetime(1730000000 + (unmasked >> 34 & 1073741823), 'unixepoch') AS time, unmasked >> 17 & 131071 AS node, unmasked & 131071 AS sequence
FROM (SELECT id, (
  WITH RECURSIVE state(i, s) AS (
    SELECT 32, {{load ^ k}} FROM temp.randflake_key WHERE i = 32
    UNION ALL
    SELECT r.i, CASE WHEN r.i % 4 = 3 THEN {{unmix ^ k}} ELSE {{unround ^ k}} END
    FROM state JOIN temp.randflake_key r ON r.i = state.i - 1)
  SELECT {{store}} FROM state WHERE i = 0
) AS unmasked FROM ids);
