
-- IDs as a column's default, id bigint PRIMARY KEY DEFAULT randflake_next(), under a node that nobody else has. The owner gives the
-- secret once: \copy randflake_default (secret) FROM 'secret'
-- Domains check two columns, and none checks the secret: where a constraint of the table or a row of COPY fails, PostgreSQL logs the row.
CREATE DOMAIN randflake_default_row AS boolean NOT NULL CHECK (VALUE);
CREATE DOMAIN randflake_default_node AS int NOT NULL CHECK (VALUE BETWEEN 0 AND 131071);
CREATE TABLE randflake_default (
  one_row randflake_default_row PRIMARY KEY DEFAULT true, -- a key, as publications of all tables want one
  node randflake_default_node DEFAULT {{node}},
  secret text,
  round_keys bigint[] GENERATED ALWAYS AS (CASE WHEN secret ~ '^[0-9A-Fa-f]{32}$' THEN randflake_key_of(secret) END) STORED
);
ALTER TABLE randflake_default ENABLE ROW LEVEL SECURITY; -- so that a later GRANT ON ALL TABLES shows nobody the row

-- A change that leaves no secret, or half of one, fails at the commit, and the secret before stays. PostgreSQL logs the row of COPY that
-- fails, but at the commit there is none.
CREATE FUNCTION randflake_check() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  keys bigint[];
BEGIN
  EXECUTE format('SELECT round_keys FROM %s', tg_relid::regclass) INTO keys;
  IF keys IS NULL THEN
    RAISE 'randflake: no secret in randflake_default: copy its 32 hexadecimal digits there' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER randflake_secret AFTER INSERT OR UPDATE OR DELETE ON randflake_default DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION randflake_check();

-- Where IDs are: second << 17 | number. It never goes back, so a clock that does makes no ID come again.
CREATE SEQUENCE randflake_cursor MINVALUE 0 MAXVALUE 140737488355327;

-- Operands have just the types that the functions and operators of pg_catalog take, so that nobody who may create some in this
-- schema, as all may in PostgreSQL 14's public, can put theirs in between and run them as the owner.
CREATE FUNCTION randflake_next() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
  own record;
  clock bigint;
  place bigint;
BEGIN
  -- After ALTER SCHEMA ... RENAME the search_path still has the old name, and others may have made a schema of that name.
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('randflake_default'::text)::oid AND pg_get_userbyid(relowner) = current_user) THEN
    RAISE 'randflake: this function finds no table randflake_default of its owner: was the schema renamed? ALTER FUNCTION randflake_next() SET search_path = pg_catalog, its new name, pg_temp'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  SELECT * INTO own FROM randflake_default;
  IF own.round_keys IS NULL THEN
    RAISE 'randflake: no secret in randflake_default: copy its 32 hexadecimal digits there' USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  LOOP
    -- A block that fails, by its own RF000 or when it is cancelled, gives up its locks, and a sequence keeps what the block did.
    -- Locks of a table are its owner's alone, where anybody could take advisory ones, and have all others wait.
    BEGIN
      LOCK TABLE randflake_default IN ROW SHARE MODE;
      place := nextval('randflake_cursor'::regclass);
      RAISE SQLSTATE 'RF000';
    EXCEPTION WHEN SQLSTATE 'RF000' THEN
    END;
    clock := floor(extract(epoch FROM clock_timestamp()))::bigint - 1730000000;
    EXIT WHEN (place >> 17) >= clock;

    -- The second has passed. Nobody is in nextval under this lock, so setval can't lower what another session has raised.
    BEGIN
      LOCK TABLE randflake_default IN EXCLUSIVE MODE;
      IF (SELECT last_value >> 17 FROM randflake_cursor) < clock THEN
        PERFORM setval('randflake_cursor'::regclass, clock << 17, false);
      END IF;
      RAISE SQLSTATE 'RF000';
    EXCEPTION WHEN SQLSTATE 'RF000' THEN
    END;
  END LOOP;
  IF (place >> 17) IN (clock + 9, clock + 10) THEN
    PERFORM pg_sleep(1::float8); -- sessions that make more than 131,072 IDs a second wait for the clock, instead of being refused soon
  END IF;
  IF (place >> 17) > clock + 10 THEN
    RAISE 'randflake: the clock is % seconds behind the newest ID', (place >> 17) - clock USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN randflake_mask(((place >> 17) << 34) | (own.node::bigint << 17) | (place & 131071::bigint), own.round_keys);
END
$$;

-- Only the owner has the key and the sequence, whatever privileges are granted by default, and the function finds these in its own schema.
DO $$
DECLARE
  other text;
BEGIN
  EXECUTE pg_catalog.format('ALTER FUNCTION randflake_next() SET search_path = pg_catalog, %I, pg_temp', current_schema());
  FOR other IN
    SELECT DISTINCT CASE grantee WHEN 0::oid THEN 'PUBLIC' ELSE grantee::regrole::text END FROM pg_class, aclexplode(relacl)
    WHERE oid IN ('randflake_default'::regclass::oid, 'randflake_cursor'::regclass::oid) AND grantee <> relowner
  LOOP
    EXECUTE pg_catalog.format('REVOKE ALL ON randflake_default, randflake_cursor FROM %s', other);
  END LOOP;
END
$$;
