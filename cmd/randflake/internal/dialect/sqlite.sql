-- Randflake IDs in SQLite, where functions can't be made in SQL: queries of a column id in a table ids, to be adapted.
-- Only this connection sees the key.
CREATE TEMP TABLE randflake_key (i INTEGER PRIMARY KEY, k INTEGER);

-- Expands a secret with 32 hexadecimal digits, which is a parameter.
WITH RECURSIVE digits(digit) AS (VALUES (1), (2), (3), (4)), {{keys}}
INSERT INTO randflake_key SELECT i, k FROM expanded WHERE length(:secret) = 32 AND :secret NOT GLOB '*[^0-9a-fA-F]*';

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value.
SELECT id, (
  WITH RECURSIVE state(i, s, t) AS (
    SELECT 0, {{load ^ k}}, 0 FROM temp.randflake_key WHERE i = 0
    UNION ALL
    SELECT state.i + 1, iif(state.i % 2 = 0, s, iif(r.i % 4 = 0, {{mix ^ k}}, {{round ^ k}})),
      iif(state.i % 2 = 0, iif(r.i % 4 = 0, {{mix t}}, {{round t}}), 0)
    FROM state JOIN temp.randflake_key r ON r.i = state.i / 2 + 1)
  SELECT {{store}} FROM state WHERE i = 64
) AS masked FROM ids;

-- The inverse, and when (UTC), where and as which of its second a Randflake ID was made.
WITH raws AS MATERIALIZED (SELECT id, (
  WITH RECURSIVE state(i, s, t) AS (
    SELECT 64, {{load ^ k}}, 0 FROM temp.randflake_key WHERE i = 32
    UNION ALL
    SELECT state.i - 1, iif(state.i % 2 = 0, s, iif(r.i % 4 = 3, {{unmix ^ k}}, {{unround ^ k}})),
      iif(state.i % 2 = 0, iif(r.i % 4 = 3, {{mix t}}, {{unround t}}), 0)
    FROM state JOIN temp.randflake_key r ON r.i = (state.i - 1) / 2 WHERE state.i > 0)
  SELECT {{store}} FROM state WHERE i = 0
) AS unmasked FROM ids)
SELECT id, unmasked, datetime(1730000000 + (unmasked >> 34 & 1073741823), 'unixepoch') AS time, unmasked >> 17 & 131071 AS node, unmasked & 131071 AS sequence
FROM raws;
