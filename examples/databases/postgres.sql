-- PostgreSQL: a BIGINT's text form, as randflake.ID has it.
CREATE FUNCTION randflake_text(id bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
  SELECT coalesce(nullif(ltrim(string_agg(substr('0123456789abcdefghijklmnopqrstuv',
           ((id >> 5 * digit) & CASE digit WHEN 12 THEN 15 ELSE 31 END)::int + 1, 1), '' ORDER BY digit DESC), '0'), ''), '0')
  FROM generate_series(0, 12) AS digit
$$;

-- The BIGINT of a text form. Each ID has one: what would not be written so again is an error.
CREATE FUNCTION randflake_id(digits text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
  length int := least(length(digits), 14); -- which is one too many
  id bigint := (
    SELECT bit_or((strpos('0123456789abcdefghijklmnopqrstuv', substr(digits, i, 1) COLLATE "C") - 1)::bigint << 5 * (length - i))
    FROM generate_series(1, length) AS i);
BEGIN
  IF randflake_text(id) IS DISTINCT FROM digits COLLATE "C" THEN
    RAISE 'no randflake ID: %', quote_literal(digits) USING ERRCODE = 'invalid_text_representation';
  END IF;
  RETURN id;
END
$$;

-- The decimal number without a sign that some show.
CREATE FUNCTION randflake_unsigned(id bigint) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
  SELECT CASE WHEN id < 0 THEN 18446744073709551616 + id ELSE id END
$$;
