-- Randflake IDs in PostgreSQL, from 14: bodies after RETURN and the search_path keep other schemas' functions and
-- operators out, and operands of just pg_catalog's types those that others have put into this schema. A session gives the secret once: SELECT randflake_use(secret), as docs/databases.md says.

-- The round keys of a secret with 32 hexadecimal digits.
CREATE FUNCTION randflake_keys(secret text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  b bytea := CASE WHEN secret ~ '^[0-9A-Fa-f]{32}$' THEN decode(secret, 'hex') END;
BEGIN
  IF b IS NULL THEN
    RAISE 'no randflake secret: want 32 hexadecimal digits' USING ERRCODE = 'invalid_text_representation';
  END IF;
  RETURN (
    WITH RECURSIVE {{keys}}
    SELECT array_agg(k ORDER BY i) FROM expanded);
END
$$;

-- Sets the key of this session.
CREATE FUNCTION randflake_use(secret text) RETURNS void LANGUAGE sql
RETURN set_config('randflake.key', randflake_keys(secret)::text, false);

-- The key of this session. In a query of many rows, (SELECT randflake_key()) reads it once.
CREATE FUNCTION randflake_key() RETURNS bigint[] LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
  key text := current_setting('randflake.key', true);
BEGIN
  IF key IS NULL OR key NOT LIKE '{%' THEN -- the error of the cast below would quote it
    RAISE 'randflake: no key: call randflake_use first' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN key;
END
$$;

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value.
CREATE FUNCTION randflake_mask(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
  t bigint;
  s bigint := {{load}} # key[1];
BEGIN
  FOR i IN 1..32 BY 4 LOOP
    t := {{round t}}; s := {{round}} # key[i + 1];
    t := {{round t}}; s := {{round}} # key[i + 2];
    t := {{round t}}; s := {{round}};
    t := {{mix t}}; s := {{mix}} # key[i + 4];
  END LOOP;
  RETURN {{store}};
END
$$;

-- The inverse of randflake_mask.
CREATE FUNCTION randflake_unmask(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
  t bigint;
  s bigint := {{load}} # key[33];
BEGIN
  FOR i IN REVERSE 29..1 BY 4 LOOP
    t := {{mix t}}; s := {{unmix}};
    t := {{unround t}}; s := {{unround}} # key[i + 2];
    t := {{unround t}}; s := {{unround}} # key[i + 1];
    t := {{unround t}}; s := {{unround}} # key[i];
  END LOOP;
  RETURN {{store}};
END
$$;

-- When, where and as which of its second a Randflake ID was made.
CREATE FUNCTION randflake_time(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN to_timestamp((1730000000 + (randflake_unmask(id, key) >> 34 & 1073741823::bigint))::float8);
CREATE FUNCTION randflake_node(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (randflake_unmask(id, key) >> 17 & 131071::bigint)::int;
CREATE FUNCTION randflake_sequence(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (randflake_unmask(id, key) & 131071::bigint)::int;

-- PostgreSQL: a BIGINT's text form, as randflake.ID has it.
CREATE FUNCTION randflake_text(id bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
  SELECT coalesce(nullif(ltrim(string_agg(substr('0123456789abcdefghijklmnopqrstuv',
           ((id >> 5 * digit) & CASE digit WHEN 12 THEN 15::bigint ELSE 31 END)::int + 1, 1), '' ORDER BY digit DESC), '0'), ''), '0')
  FROM generate_series(0, 12) AS digit
);

-- The BIGINT of a text form. Each ID has one: anything else is an error.
CREATE FUNCTION randflake_id(digits text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
  digits := regexp_replace(digits COLLATE "C", '^[a-z]([a-z0-9_]*[a-z0-9])?_', ''); -- of a typed ID
  IF digits COLLATE "C" !~ '^(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$' THEN
    RAISE 'no randflake ID: %', quote_literal(digits) USING ERRCODE = 'invalid_text_representation';
  END IF;
  RETURN (
    SELECT bit_or((strpos('0123456789abcdefghijklmnopqrstuv', substr(digits, i, 1) COLLATE "C") - 1)::bigint << 5 * (length(digits) - i))
    FROM generate_series(1, length(digits)) AS i);
END
$$;

-- The decimal number without a sign that some show.
CREATE FUNCTION randflake_unsigned(id bigint) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN id < 0 THEN 18446744073709551616 + id::numeric ELSE id END;
