-- The lease store of randflake. To run it again is safe, and brings its functions up to date.
--
-- A role that leases nodes needs no more than these:
--   GRANT USAGE ON SCHEMA @schema TO role;
--   GRANT SELECT, INSERT, UPDATE ON @schema.meta, @schema.ranges TO role;
--   GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA @schema TO role;

CREATE SCHEMA IF NOT EXISTS @schema;

-- What the store knows beside its records: one row. Seconds are Unix seconds.
CREATE TABLE IF NOT EXISTS @schema.meta (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    incarnation uuid    NOT NULL,
    max_ttl     bigint  NOT NULL CHECK (max_ttl BETWEEN 1 AND 9000000000),
    max_skew    bigint  NOT NULL CHECK (max_skew BETWEEN 0 AND 9000000000),
    not_before  bigint  NOT NULL CHECK (not_before BETWEEN 0 AND @last),
    place       text    NOT NULL, -- which tables of which cluster these are
    timeline    text    NOT NULL, -- which history of that cluster this is
    ranges      bigint  NOT NULL CHECK (ranges >= 0) -- how many records there are
);

-- One record for each range of nodes that was ever granted, forever. No index has a column that
-- changes, and pages have room, so that a renewal writes one row and no index.
CREATE TABLE IF NOT EXISTS @schema.ranges (
    first_node integer PRIMARY KEY,
    last_node  integer NOT NULL,
    owner      uuid, -- null for nobody
    version    bigint  NOT NULL CHECK (version >= 1),
    start      bigint  NOT NULL,
    high_water bigint  NOT NULL,
    CHECK (0 <= first_node AND first_node <= last_node AND last_node < @nodes),
    CHECK (@epoch <= start AND start - 1 <= high_water AND high_water <= @last),
    EXCLUDE USING gist (int4range(first_node, last_node, '[]') WITH &&)
) WITH (fillfactor = 50);

CREATE OR REPLACE FUNCTION @schema.revision() RETURNS integer
LANGUAGE sql IMMUTABLE AS $randflake$ SELECT @revision $randflake$;

-- unsafe says why nothing may be granted with the settings as they are, or is null.
CREATE OR REPLACE FUNCTION @schema.unsafe() RETURNS text
LANGUAGE sql VOLATILE AS $randflake$
SELECT CASE
    WHEN pg_is_in_recovery() THEN 'server is a standby: connect to the primary'
    WHEN current_setting('fsync') <> 'on' THEN 'fsync is off: set it to on'
    WHEN current_setting('full_page_writes') <> 'on' THEN 'full_page_writes is off: set it to on'
    WHEN current_setting('transaction_read_only') <> 'off' THEN 'default_transaction_read_only is on: set it to off for this role'
    WHEN current_setting('transaction_isolation') <> 'read committed'
        THEN format('default_transaction_isolation is %s: set it to ''read committed'' for this role', current_setting('transaction_isolation'))
    ELSE (SELECT format('table %s is not logged: ALTER TABLE %1$s SET LOGGED', c.oid::regclass) FROM pg_catalog.pg_class c
          WHERE c.oid IN (@literal_meta::regclass, @literal_ranges::regclass) AND c.relpersistence <> 'p' LIMIT 1)
END
$randflake$;

-- lineage tells these tables from their copies: another cluster has another system identifier, a
-- dump that was restored other OIDs, and a standby that was promoted, or a cluster that was
-- recovered to some point, another timeline.
CREATE OR REPLACE FUNCTION @schema.lineage(OUT here text, OUT history text)
LANGUAGE sql VOLATILE AS $randflake$
SELECT format('%s/%s/%s/%s', (SELECT c.system_identifier FROM pg_control_system() c),
           (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database()),
           @literal_meta::regclass::oid, @literal_ranges::regclass::oid),
       left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
$randflake$;

-- enter begins every call: it sees to it that the commit will be durable, reads clock and meta, and
-- compares what there is with what the caller saw last. A loss is only reported here; the caller
-- then calls distrust.
--
-- It takes no lock. A call that has read meta just before a floor is set is as good as one that was
-- over by then.
CREATE OR REPLACE FUNCTION @schema.enter(saw uuid, reached bigint, trusted boolean, clock bigint,
    OUT now bigint, OUT meta @schema.meta, OUT loss text)
LANGUAGE plpgsql AS $randflake$
DECLARE
    objection text := @schema.unsafe();
    lineage   record;
BEGIN
    IF objection IS NOT NULL THEN
        RAISE EXCEPTION USING MESSAGE = objection, ERRCODE = 'RF001';
    END IF;
    -- As a setting of the transaction this lasts through the commit, which the SET clause of a
    -- function does not.
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    now := coalesce(clock, floor(extract(epoch FROM clock_timestamp())));
    SELECT m.* INTO meta FROM @schema.meta m;
    IF NOT FOUND THEN
        loss := 'meta row is missing';
        RETURN;
    END IF;
    SELECT l.* INTO lineage FROM @schema.lineage() l;
    loss := CASE
        WHEN meta.place <> lineage.here THEN 'tables were copied or restored'
        WHEN meta.timeline <> lineage.history AND NOT trusted THEN 'server was recovered or promoted'
        WHEN meta.incarnation <> saw THEN 'store was made anew'
        WHEN pg_current_wal_insert_lsn() - '0/0' < reached THEN 'server went back in time'
    END;
END
$randflake$;

-- answer is what every call returns. The position, in bytes of WAL, is only of use where the call
-- wrote: then it comes before the commit, and is durable with it.
CREATE OR REPLACE FUNCTION @schema.answer(loss text, now bigint, meta @schema.meta, range @schema.ranges, wrote boolean)
RETURNS json LANGUAGE sql VOLATILE AS $randflake$
SELECT json_build_object('loss', coalesce(loss, ''), 'now', now, 'incarnation', meta.incarnation,
    'maxTTL', meta.max_ttl, 'maxSkew', meta.max_skew, 'notBefore', meta.not_before,
    'position', CASE WHEN wrote THEN (pg_current_wal_insert_lsn() - '0/0')::bigint END,
    'record', CASE WHEN range.first_node IS NOT NULL THEN json_build_object(
        'firstNode', range.first_node, 'lastNode', range.last_node, 'owner', range.owner,
        'version', range.version, 'start', range.start, 'highWater', range.high_water) END)
$randflake$;

-- serialize makes the rare calls, which make a range or set a floor, wait for each other. Others don't
-- wait for them. Who calls it must not hold the lock of a row.
CREATE OR REPLACE FUNCTION @schema.serialize() RETURNS void
LANGUAGE sql VOLATILE AS $randflake$ SELECT pg_advisory_xact_lock(1918987876, @literal_ranges::regclass::oid::integer) $randflake$;

-- acquire grants a range to a new owner, all of it below a bound, or returns no record when it has to
-- refuse.
--
-- First it tries the ranges of the right size that are free and that nobody else is about to take.
-- That there is none does not say that all are taken. So it tries again in turn, and waits for
-- those that others have locked. A range that was free a moment ago stays locked by who finds that it is
-- not: the exception gives such locks back, as who waits for its turn must not keep others waiting.
CREATE OR REPLACE FUNCTION @schema.acquire(saw uuid, reached bigint, trusted boolean, clock bigint,
    nodes bigint, below bigint, ttl bigint, token uuid)
RETURNS json LANGUAGE plpgsql AS $randflake$
DECLARE
    e        record;
    r        @schema.ranges;
    latest   bigint;
    free     boolean;
    unused   bigint;
    starts   bigint;
    ends     bigint;
BEGIN
    SELECT x.* INTO e FROM @schema.enter(saw, reached, trusted, clock) x;
    latest := least(e.now + (e.meta).max_ttl - 1, @last);
    IF e.loss IS NOT NULL OR e.now < @epoch OR greatest(e.now, (e.meta).not_before) > latest THEN
        RETURN @schema.answer(e.loss, e.now, e.meta, NULL, false);
    END IF;

    BEGIN
        SELECT t.* INTO STRICT r FROM @schema.ranges t
        WHERE t.last_node - t.first_node + 1 = nodes AND t.last_node < below AND t.high_water < e.now
        ORDER BY t.high_water, t.first_node LIMIT 1 FOR UPDATE SKIP LOCKED;
        free := true;
    EXCEPTION WHEN no_data_found THEN
        free := false;
    END;

    IF NOT free THEN
        PERFORM @schema.serialize();
        SELECT x.* INTO e FROM @schema.enter(saw, reached, trusted, clock) x;
        latest := least(e.now + (e.meta).max_ttl - 1, @last);
        IF e.loss IS NULL AND (e.meta).ranges <> (SELECT count(*) FROM @schema.ranges) THEN
            e.loss := 'records are missing';
        END IF;
        IF e.loss IS NOT NULL OR greatest(e.now, (e.meta).not_before) > latest THEN
            RETURN @schema.answer(e.loss, e.now, e.meta, NULL, false);
        END IF;

        SELECT t.* INTO r FROM @schema.ranges t
        WHERE t.last_node - t.first_node + 1 = nodes AND t.last_node < below AND t.high_water < e.now
        ORDER BY t.high_water, t.first_node LIMIT 1 FOR UPDATE;

        IF NOT FOUND THEN
            SELECT min(gap.first) INTO unused FROM (
                SELECT coalesce(lag(t.last_node) OVER (ORDER BY t.first_node), -1) + 1 AS first, t.first_node AS upto
                FROM @schema.ranges t
                UNION ALL
                SELECT coalesce(max(t.last_node), -1) + 1, @nodes FROM @schema.ranges t
            ) gap WHERE least(gap.upto, below) - gap.first >= nodes;
            IF unused IS NOT NULL THEN
                starts := greatest(e.now, (e.meta).not_before);
                INSERT INTO @schema.ranges AS t VALUES (unused, unused + nodes - 1, token, 1, starts, least(starts + ttl - 1, latest))
                RETURNING t.* INTO r;
                UPDATE @schema.meta m SET ranges = m.ranges + 1;
                RETURN @schema.answer(NULL, e.now, e.meta, r, true);
            END IF;

            SELECT t.* INTO r FROM @schema.ranges t
            WHERE t.last_node - t.first_node + 1 > nodes AND t.last_node < below AND t.high_water < e.now
            ORDER BY t.last_node - t.first_node, t.high_water, t.first_node LIMIT 1 FOR UPDATE;
        END IF;

        IF NOT FOUND THEN
            SELECT t.* INTO r FROM @schema.ranges t
            WHERE t.last_node - t.first_node + 1 >= nodes AND t.last_node < below
                AND t.owner IS NULL AND t.high_water BETWEEN e.now AND latest - 1
            ORDER BY t.high_water, t.first_node LIMIT 1 FOR UPDATE;
        END IF;
        IF NOT FOUND THEN
            RETURN @schema.answer(NULL, e.now, e.meta, NULL, false);
        END IF;
    END IF;

    starts := greatest(e.now, r.high_water + 1, (e.meta).not_before);
    ends := least(starts + ttl - 1, latest);
    UPDATE @schema.ranges t SET owner = token, version = t.version + 1, start = starts, high_water = ends
    WHERE t.first_node = r.first_node RETURNING t.* INTO r;
    RETURN @schema.answer(NULL, e.now, e.meta, r, true);
END
$randflake$;

-- backwards says whether a record has an older version than its holder saw, or is missing. A lease that
-- starts before the floor has not changed since that was set, so what it shows is known already;
-- one that starts later than any does shows nothing.
CREATE OR REPLACE FUNCTION @schema.backwards(loss text, now bigint, meta @schema.meta, range @schema.ranges, held_version bigint, held_start bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $randflake$
SELECT coalesce(loss, CASE WHEN coalesce(range.version, 0) < held_version
    AND held_start >= meta.not_before AND held_start < now + meta.max_ttl + meta.max_skew THEN 'a lease''s record went back in time' END)
$randflake$;

-- renew raises the high-water mark of a lease, or returns the record as it is when it has to
-- refuse; the position tells which.
CREATE OR REPLACE FUNCTION @schema.renew(saw uuid, reached bigint, trusted boolean, clock bigint,
    held_first bigint, held_last bigint, held_owner uuid, held_version bigint, held_start bigint, ttl bigint)
RETURNS json LANGUAGE plpgsql AS $randflake$
DECLARE
    e record;
    r @schema.ranges;
BEGIN
    SELECT x.* INTO e FROM @schema.enter(saw, reached, trusted, clock) x;
    IF e.loss IS NULL THEN
        UPDATE @schema.ranges t
        SET version = t.version + 1, high_water = greatest(t.high_water, least(e.now + ttl - 1, @last))
        WHERE t.first_node = held_first AND t.last_node = held_last
            AND t.owner = held_owner AND t.version = held_version AND t.start >= (e.meta).not_before AND ttl <= (e.meta).max_ttl
        RETURNING t.* INTO r;
        IF FOUND THEN
            RETURN @schema.answer(NULL, e.now, e.meta, r, true);
        END IF;
    END IF;
    SELECT t.* INTO r FROM @schema.ranges t WHERE t.first_node = held_first AND t.last_node = held_last;
    RETURN @schema.answer(@schema.backwards(e.loss, e.now, e.meta, r, held_version, held_start), e.now, e.meta, r, false);
END
$randflake$;

-- lookup returns the record of a range. It locks the row, which makes its commit wait, as that of
-- a renewal does, until all that it read is durable.
CREATE OR REPLACE FUNCTION @schema.lookup(saw uuid, reached bigint, trusted boolean, clock bigint,
    held_first bigint, held_last bigint, held_version bigint, held_start bigint)
RETURNS json LANGUAGE plpgsql AS $randflake$
DECLARE
    e record;
    r @schema.ranges;
BEGIN
    SELECT x.* INTO e FROM @schema.enter(saw, reached, trusted, clock) x;
    SELECT t.* INTO r FROM @schema.ranges t WHERE t.first_node = held_first AND t.last_node = held_last FOR UPDATE;
    RETURN @schema.answer(@schema.backwards(e.loss, e.now, e.meta, r, held_version, held_start), e.now, e.meta, r, FOUND);
END
$randflake$;

-- release gives a lease back, or returns the record as it is when it has to refuse, as renew does.
CREATE OR REPLACE FUNCTION @schema.release(saw uuid, reached bigint, trusted boolean, clock bigint,
    held_first bigint, held_last bigint, held_owner uuid, held_version bigint, held_start bigint, last_used bigint)
RETURNS json LANGUAGE plpgsql AS $randflake$
DECLARE
    e record;
    r @schema.ranges;
BEGIN
    SELECT x.* INTO e FROM @schema.enter(saw, reached, trusted, clock) x;
    IF e.loss IS NULL THEN
        UPDATE @schema.ranges t
        SET owner = NULL, version = t.version + 1, high_water = least(t.high_water, greatest(last_used, t.start - 1))
        WHERE t.first_node = held_first AND t.last_node = held_last AND t.owner = held_owner AND t.version = held_version
        RETURNING t.* INTO r;
        IF FOUND THEN
            RETURN @schema.answer(NULL, e.now, e.meta, r, true);
        END IF;
    END IF;
    SELECT t.* INTO r FROM @schema.ranges t WHERE t.first_node = held_first AND t.last_node = held_last;
    RETURN @schema.answer(@schema.backwards(e.loss, e.now, e.meta, r, held_version, held_start), e.now, e.meta, r, false);
END
$randflake$;

-- distrust sets the floor after a loss: nothing is granted before every lease that was forgotten
-- has ended. That goes by the wider of the limits that the caller knows and those in meta, as another
-- store may have come in place of the caller's. If the floor is above known by now, somebody
-- else has set it since the loss was reported, which will do unless the caller knows wider limits.
-- Where meta is missing it is made anew, with the limits that the caller knows. When the clock can't
-- be right the loss stays.
CREATE OR REPLACE FUNCTION @schema.distrust(saw uuid, reached bigint, trusted boolean, clock bigint,
    known bigint, known_ttl bigint, known_skew bigint)
RETURNS json LANGUAGE plpgsql AS $randflake$
DECLARE
    e     record;
    m     @schema.meta;
    bound bigint;
BEGIN
    PERFORM @schema.serialize();
    SELECT x.* INTO e FROM @schema.enter(saw, reached, trusted, clock) x;
    m := e.meta;
    IF m.not_before > known AND m.max_ttl >= known_ttl AND m.max_skew >= known_skew THEN
        RETURN @schema.answer(NULL, e.now, m, NULL, false);
    END IF;
    bound := e.now + greatest(m.max_ttl, known_ttl) + greatest(m.max_skew, known_skew);
    IF e.now < @epoch OR bound > @last THEN
        RETURN @schema.answer(coalesce(e.loss, 'data is distrusted'), e.now, m, NULL, false);
    END IF;
    INSERT INTO @schema.meta AS old (incarnation, max_ttl, max_skew, not_before, place, timeline, ranges)
    SELECT gen_random_uuid(), known_ttl, known_skew, bound, l.here, l.history, (SELECT count(*) FROM @schema.ranges)
    FROM @schema.lineage() l
    ON CONFLICT (only_row) DO UPDATE SET not_before = greatest(old.not_before, excluded.not_before),
        place = excluded.place, timeline = excluded.timeline, ranges = excluded.ranges
    RETURNING old.* INTO m;
    RETURN @schema.answer(NULL, e.now, m, NULL, true);
END
$randflake$;
