SELECT
	set_config('randflake.locked', pg_try_advisory_xact_lock(hashtextextended('randflake', '@schema.entries'::regclass::oid::bigint))::text, true),
	set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)
