-- The entries of randflake's stores. To run it again is safe, and brings the functions up to date. A role that
-- uses them needs no more than these:
--   GRANT USAGE ON SCHEMA @schema TO role;
--   GRANT SELECT, INSERT, UPDATE, DELETE ON @schema.entries TO role;
--   GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA @schema TO role;
-- Only pruning needs DELETE.

-- CREATE SCHEMA IF NOT EXISTS asks for the privilege also where it exists.
DO $$ BEGIN IF to_regnamespace('@schema') IS NULL THEN CREATE SCHEMA @schema; END IF; END $$;
-- Pages have room, so that a new value of an entry touches no index.
CREATE TABLE IF NOT EXISTS @schema.entries (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL) WITH (fillfactor = 50);

-- evidence tells time and lineage, and refuses settings with which an acknowledged swap could be forgotten,
-- or two swaps take effect that exclude each other.
CREATE OR REPLACE FUNCTION @schema.evidence(OUT clock timestamptz, OUT lineage text)
LANGUAGE plpgsql AS $$
DECLARE
    objection text := CASE
        WHEN pg_is_in_recovery() THEN 'server is a standby, which lags behind: connect to the primary, or add target_session_attrs=read-write to a URL of several hosts'
        WHEN current_setting('fsync') <> 'on' THEN 'fsync is off, so a crash loses what was acknowledged: set it to on'
        WHEN current_setting('full_page_writes') <> 'on' THEN 'full_page_writes is off, so a crash tears pages: set it to on'
        WHEN current_setting('transaction_read_only') <> 'off' THEN 'default_transaction_read_only is on: set it to off for this role'
        WHEN current_setting('transaction_isolation') <> 'read committed'
            THEN format('default_transaction_isolation is %s, so a swap compares with the past: set it to ''read committed'' for this role', current_setting('transaction_isolation'))
    END;
BEGIN
    IF objection IS NULL THEN
        SELECT clock_timestamp(), format('%s/%s/%s/%s', s.system_identifier, d.oid, c.oid, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)),
            CASE WHEN c.relpersistence <> 'p' THEN format('table %s is not logged, so a crash empties it: ALTER TABLE %1$s SET LOGGED', c.oid::regclass) END
        INTO clock, lineage, objection
        FROM pg_catalog.pg_control_system() s, pg_catalog.pg_database d, pg_catalog.pg_class c
        WHERE d.datname = current_database() AND c.oid = '@schema.entries'::regclass;
    END IF;
    IF objection IS NOT NULL THEN
        RAISE EXCEPTION USING MESSAGE = objection, ERRCODE = 'RF001';
    END IF;
END $$;

-- read is STABLE so that all its statements see a single moment, that of the statement that calls it. Only
-- what has reached the disk counts for the position.
CREATE OR REPLACE FUNCTION @schema.read(names text[], first text, until text, most integer,
    OUT named bytea[], OUT page_names text[], OUT page_values bytea[], OUT clock timestamptz, OUT lineage text, OUT reached bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE name_i text; value_i bytea;
BEGIN
    FOREACH name_i IN ARRAY names LOOP
        SELECT e.value INTO value_i FROM @schema.entries e WHERE e.name = name_i;
        named := array_append(named, value_i);
    END LOOP;
    IF most > 0 THEN
        SELECT array_agg(p.name), array_agg(p.value) INTO page_names, page_values
        FROM (SELECT * FROM @schema.entries e WHERE e.name >= first AND e.name < until ORDER BY e.name LIMIT most) p;
    END IF;
    SELECT x.* INTO clock, lineage FROM @schema.evidence() x;
    reached := pg_current_wal_flush_lsn() - '0/0';
END $$;

-- swap compares and sets. Until its commit it holds locks on the names of all entries: shared on those that are
-- only expected, exclusive on those that are put. They protect entries that are not there as well, write
-- nothing, and go through poolers. All swaps take them in one order, so there is no deadlock. Each statement
-- of a VOLATILE function has a new snapshot, so those after the locks see all that was committed under them.
--
-- A commit lets go of its locks, and shows what it wrote, when that is on disk and on the synchronous standbys;
-- but also when it is told to wait for those no longer, or never wanted to wait. So every swap writes a
-- record and waits until it is durable, whether it puts anything or not: what it found comes before it in the log.
CREATE OR REPLACE FUNCTION @schema.swap(expect_names text[], expect_values bytea[], put_names text[], put_values bytea[],
    OUT named bytea[], OUT swapped boolean, OUT clock timestamptz, OUT lineage text, OUT reached bigint)
LANGUAGE plpgsql AS $$
DECLARE value_i bytea;
BEGIN
    -- As a setting of the transaction this lasts through the commit, which the SET clause of a function does not.
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM CASE WHEN l.put THEN pg_advisory_xact_lock(l.key) ELSE pg_advisory_xact_lock_shared(l.key) END
    FROM (SELECT hashtextextended(n.name, '@schema.entries'::regclass::oid::bigint) AS key, bool_or(n.put) AS put
          FROM (SELECT unnest(expect_names), false UNION ALL SELECT unnest(put_names), true) n (name, put)
          GROUP BY 1 ORDER BY 1) l;
    SELECT x.* INTO clock, lineage FROM @schema.evidence() x;
    swapped := true;
    FOR i IN 1 .. cardinality(expect_names) LOOP
        SELECT e.value INTO value_i FROM @schema.entries e WHERE e.name = expect_names[i];
        named := array_append(named, value_i);
        swapped := swapped AND value_i IS NOT DISTINCT FROM expect_values[i];
    END LOOP;
    FOR i IN 1 .. cardinality(put_names) LOOP
        EXIT WHEN NOT swapped;
        IF put_values[i] IS NULL THEN
            DELETE FROM @schema.entries e WHERE e.name = put_names[i];
            CONTINUE;
        END IF;
        UPDATE @schema.entries e SET value = put_values[i] WHERE e.name = put_names[i];
        IF NOT FOUND THEN
            INSERT INTO @schema.entries VALUES (put_names[i], put_values[i]);
        END IF;
    END LOOP;
    IF NOT swapped OR array_position(put_values, NULL) IS NOT NULL OR cardinality(put_names) = 0 THEN
        PERFORM pg_logical_emit_message(true, 'randflake', '');
    END IF;
    reached := pg_current_wal_insert_lsn() - '0/0'; -- the record of the commit comes next
END $$;

-- A change of what the functions take, return or mean raises this number, so that Prepare drops the old ones.
COMMENT ON FUNCTION @schema.swap IS '@revision';
