WITH e AS MATERIALIZED (@evidence),
	v AS MATERIALIZED (
		SELECT current_setting('randflake.locked') = 'true' AND coalesce(bool_and(x.value IS NOT DISTINCT FROM t.value), true) AS same,
			array_agg(t.value ORDER BY x.i) AS found
		FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY x (name, value, i)
		LEFT JOIN @schema.entries t USING (name)
	),
	put AS (
		INSERT INTO @schema.entries AS t
		SELECT x.name, x.value, 2 FROM e, v, unnest($3::text[], $4::bytea[]) x (name, value) WHERE same AND objection = ''
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, position = t.position + 1
		RETURNING name, position
	)
SELECT coalesce((SELECT position FROM put WHERE name = ''), (SELECT position FROM @schema.entries WHERE name = ''), 1), e.*, found, same
FROM e, v
