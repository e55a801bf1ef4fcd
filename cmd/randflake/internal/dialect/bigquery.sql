-- Randflake IDs in BigQuery. Give the secret, 32 hexadecimal digits, as a query parameter.
CREATE TEMP FUNCTION randflake(id STRING, secret STRING, masking BOOL) RETURNS STRING DETERMINISTIC LANGUAGE js AS r"""
{{cipher}}
return randflake(id, secret, masking);
""";
CREATE TEMP FUNCTION randflake_mask(id INT64, secret STRING) AS (CAST(randflake(CAST(id AS STRING), secret, TRUE) AS INT64));
CREATE TEMP FUNCTION randflake_unmask(id INT64, secret STRING) AS (CAST(randflake(CAST(id AS STRING), secret, FALSE) AS INT64));
CREATE TEMP FUNCTION randflake_time(id INT64, secret STRING) AS (TIMESTAMP_SECONDS(1730000000 + (randflake_unmask(id, secret) >> 34 & 1073741823)));
CREATE TEMP FUNCTION randflake_node(id INT64, secret STRING) AS (randflake_unmask(id, secret) >> 17 & 131071);
CREATE TEMP FUNCTION randflake_sequence(id INT64, secret STRING) AS (randflake_unmask(id, secret) & 131071);
