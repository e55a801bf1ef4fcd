-- Randflake IDs in PostgreSQL, from 14. A session gives the secret once: SELECT randflake_use(secret), as docs/databases.md says.
--
-- Nobody can slip in functions or operators: bodies after RETURN are bound when they are made, randflake_key_of sets its
-- search_path, and the others have operands of exactly pg_catalog's types, so its operators win. Only a search_path that
-- names a schema of others before pg_catalog would change that.

-- The round keys of a secret with 32 hexadecimal digits: 33 integers. Each has the keys of a block's words a, b, c and d, from the lowest
-- bits on: of the three rounds of each of eight steps, with a zero after them, and the last ones.
CREATE OR REPLACE FUNCTION randflake_key_of(secret text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  b bytea := CASE WHEN secret ~ '^[0-9A-Fa-f]{32}$' THEN decode(secret, 'hex') END;
  w bigint[]; -- the state of the key schedule: eight words
  v bigint[]; -- the state before
  x bigint;
  y bigint;
  keys bigint[];
BEGIN
  IF b IS NULL THEN
    RAISE 'no randflake secret: want 32 hexadecimal digits' USING ERRCODE = 'invalid_text_representation';
  END IF;
  FOR i IN 0..7 LOOP
    w[i + 1] := (get_byte(b, 2 * i) << 8) | get_byte(b, 2 * i + 1);
  END LOOP;
  FOR i IN 1..16 LOOP
    IF i % 2 = 0 THEN -- the state before has the keys of a and b in three rounds, and this one those of c and d
      FOR n IN 1..5 BY 2 LOOP
        keys := keys || (v[n] | (v[n + 1] << 16) | (w[n] << 32) | (w[n + 1] << 48));
      END LOOP;
      keys := keys || 0::bigint;
    END IF;
    v := w;
    x := ((((w[1] << 9) | (w[1] >> 7)) & 65535) + w[2]) & 65535;
    y := (((w[2] << 2) | (w[2] >> 14)) & 65535) # x;
    w := ARRAY[w[7], (w[8] + i) & 65535, x, y, (w[3] + x) & 65535, (w[4] + y) & 65535, w[5], w[6]];
  END LOOP;
  RETURN keys || (w[1] | (w[2] << 16) | (w[3] << 32) | (w[4] << 48));
END
$$;

-- Sets the key of this session.
CREATE OR REPLACE FUNCTION randflake_use(secret text) RETURNS void LANGUAGE sql
RETURN set_config('randflake.key', randflake_key_of(secret)::text, false);

-- The key of this session. In a query of many rows, (SELECT randflake_key()) reads it once.
CREATE OR REPLACE FUNCTION randflake_key() RETURNS bigint[] LANGUAGE plpgsql STABLE PARALLEL SAFE
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

-- The masked form of an ID, as package mask has it, or the Randflake ID of a raw value, by the cipher SPARX-64/128. s has the block's words
-- a, b, c and d, from the lowest bits on, 4294967295 being all of a and b. As IDs are little-endian, the bytes of each word change places
-- first and last: 71777214294589695 is 0x00ff00ff00ff00ff. A round works on a and c at a time, and on b and d: 281470681808895, or
-- 0x0000ffff0000ffff, leaves 16 bits free above each, and ((w << 16) | w) >> (16 - n) turns each to the left by n.
-- Parts are written out twice, as one more variable in a round takes a fifth more time.
CREATE OR REPLACE FUNCTION randflake_mask(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
  s bigint := (((id & 71777214294589695) << 8) | ((id >> 8) & 71777214294589695)) # key[1];
  t bigint;
BEGIN
  FOR step IN 1..29 BY 4 LOOP
    FOR i IN step..step + 2 LOOP
      -- A round: a turns by 9, and gets b added; b turns by 2, and gets a mixed in.
      t := ((((((s & 281470681808895) << 16) | (s & 281470681808895)) >> 7) & 281470681808895) + ((s >> 16) & 281470681808895)) & 281470681808895;
      s := (t | ((((((((s >> 16) & 281470681808895) << 16) | ((s >> 16) & 281470681808895)) >> 14) & 281470681808895) # t) << 16)) # key[i + 1];
    END LOOP;
    -- The linear layer: a and b change places with c and d, which get both and their sum, turned by 8, mixed in.
    t := (((((s # (s >> 16)) & 281470681808895) << 16) | ((s # (s >> 16)) & 281470681808895)) >> 8) & 281470681808895;
    s := (((s >> 32) & 4294967295) | ((s & 4294967295) << 32)) # ((s # (t | (t << 16))) & 4294967295) # key[step + 4];
  END LOOP;
  RETURN ((s & 71777214294589695) << 8) | ((s >> 8) & 71777214294589695);
END
$$;

-- The inverse of randflake_mask. 281474976776192, or 0x0001000000010000, is a bit above each word, for subtractions to borrow.
CREATE OR REPLACE FUNCTION randflake_unmask(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
  s bigint := (((id & 71777214294589695) << 8) | ((id >> 8) & 71777214294589695)) # key[33];
  t bigint;
BEGIN
  FOR step IN REVERSE 29..1 BY 4 LOOP
    -- The linear layer, backwards.
    t := (((((s # (s >> 16)) & 281470681808895) << 16) | ((s # (s >> 16)) & 281470681808895)) >> 8) & 281470681808895;
    s := (((s >> 32) & 4294967295) | ((s & 4294967295) << 32)) # ((s # (t | (t << 16))) & -4294967296);
    FOR i IN REVERSE step + 2..step LOOP
      -- A round, backwards: a is mixed out of b, which turns back by 2; b is subtracted from a, which turns back by 9.
      t := (((((s # (s >> 16)) & 281470681808895) << 16) | ((s # (s >> 16)) & 281470681808895)) >> 2) & 281470681808895;
      s := ((s & 281470681808895) + 281474976776192 - t) & 281470681808895;
      s := (((((s << 16) | s) >> 9) & 281470681808895) | (t << 16)) # key[i];
    END LOOP;
  END LOOP;
  RETURN ((s & 71777214294589695) << 8) | ((s >> 8) & 71777214294589695);
END
$$;

-- When, where and as which of its second a Randflake ID was made.
CREATE OR REPLACE FUNCTION randflake_time(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN to_timestamp((1730000000 + (randflake_unmask(id, key) >> 34 & 1073741823::bigint))::float8);
CREATE OR REPLACE FUNCTION randflake_node(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (randflake_unmask(id, key) >> 17 & 131071::bigint)::int;
CREATE OR REPLACE FUNCTION randflake_sequence(id bigint, key bigint[] DEFAULT randflake_key()) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (randflake_unmask(id, key) & 131071::bigint)::int;

-- The text of an ID, as randflake.ID has it: 13 digits of base32hex, of which the first is a letter, as its first bit is always 1.
CREATE OR REPLACE FUNCTION randflake_text(id bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN substr('ghijklmnopqrstuv', ((id >> 60) & 15::bigint)::int + 1, 1) || (
  SELECT string_agg(substr('0123456789abcdefghijklmnopqrstuv', ((id >> 5 * digit) & 31::bigint)::int + 1, 1), '' ORDER BY digit DESC)
  FROM generate_series(0, 11) AS digit
);

-- The BIGINT of a text, with the prefix of a typed ID or without. Anything else is an error, which says what the text looks like.
CREATE OR REPLACE FUNCTION randflake_id(digits text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
  digits := regexp_replace(digits COLLATE "C", '^[a-z]([a-z0-9_]{0,61}[a-z0-9])?_', '');
  IF digits COLLATE "C" !~ '^[g-v][0-9a-v]{12}$' THEN
    RAISE 'no randflake ID: %: %', quote_literal(left(digits, 40)), CASE
      WHEN digits COLLATE "C" ~ '^-?[0-9]+$' THEN 'a decimal number: cast it to bigint'
      WHEN digits COLLATE "C" ~ '^[0-9a-f][0-9a-v]{0,12}$' THEN 'as gosuda/randflake prints it: randflake convert reads it'
      WHEN length(digits) = 13 AND digits COLLATE "C" ~ '[A-Z]' THEN 'has capitals: want lower case'
      ELSE 'want 13 digits of base32hex in lower case (0-9, a-v), the first from g to v'
    END USING ERRCODE = 'invalid_text_representation';
  END IF;
  RETURN (
    SELECT bit_or((strpos('0123456789abcdefghijklmnopqrstuv', substr(digits, i, 1) COLLATE "C") - 1)::bigint << 5 * (13 - i))
    FROM generate_series(1, 13) AS i); -- the first bit is shifted out
END
$$;

-- The decimal number without a sign that some show.
CREATE OR REPLACE FUNCTION randflake_unsigned(id bigint) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN id < 0 THEN 18446744073709551616 + id::numeric ELSE id END;

-- A function that another role made stays that role's when it is replaced. So that role could change later what the owner of a default runs.
DO $$
DECLARE
  function name;
  other name;
BEGIN
  SELECT proname, pg_get_userbyid(proowner) INTO function, other FROM pg_proc JOIN pg_namespace AS schema ON schema.oid = pronamespace
  WHERE nspname = current_schema() AND proname ~ '^randflake_'::text AND pg_get_userbyid(proowner) <> current_user;
  IF FOUND THEN
    RAISE 'randflake: % in this schema is of role %: run this as that role, or in another schema', function, other
      USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;
