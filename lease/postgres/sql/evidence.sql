SELECT clock_timestamp() AS clock,
	CASE
		WHEN pg_is_in_recovery() THEN 'server is a standby, which lags behind: connect to the primary, or add target_session_attrs=read-write to a URL of several hosts'
		WHEN current_setting('server_version_num')::integer < 150000 THEN 'server_version is ' || current_setting('server_version') || ': want 15 or later'
		WHEN current_setting('fsync') <> 'on' THEN 'fsync is off, so a crash loses what was acknowledged: set it to on'
		WHEN current_setting('full_page_writes') <> 'on' THEN 'full_page_writes is off, so a crash tears pages: set it to on'
		WHEN c.relpersistence <> 'p' THEN format('table %s is not logged, so a crash empties it: ALTER TABLE %1$s SET LOGGED', c.oid::regclass)
		ELSE ''
	END AS objection,
	CASE
		WHEN pg_is_in_recovery() THEN ''
		ELSE format('%s/%s/%s', s.system_identifier, d.oid, c.oid)
	END AS lineage,
	CASE
		WHEN pg_is_in_recovery() THEN ''
		ELSE format('timeline %s', left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))
	END AS incarnation,
	@doubt AS doubt
FROM pg_control_system() s, pg_database d, pg_class c
WHERE d.datname = current_database() AND c.oid = '@schema.entries'::regclass
