CASE
	WHEN current_setting('synchronous_standby_names') = '' THEN 'synchronous_standby_names is empty, so a promotion may lose what was acknowledged: name standbys there, or run randflake store trust STORE none'
	ELSE ''
END
