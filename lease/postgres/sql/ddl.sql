-- A role that takes leases and numbers needs no more than these:
--   GRANT USAGE ON SCHEMA @schema TO role;
--   GRANT SELECT, INSERT, UPDATE ON @schema.entries TO role;
DO $$ BEGIN IF to_regnamespace('@schema') IS NULL THEN CREATE SCHEMA @schema; END IF; END $$;
CREATE TABLE IF NOT EXISTS @schema.entries
	(name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL, position bigint NOT NULL) WITH (fillfactor = 50);
