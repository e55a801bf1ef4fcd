SELECT coalesce((SELECT position FROM @schema.entries WHERE name = ''), 1), e.*,
	(SELECT array_agg(t.value ORDER BY x.i)
		FROM unnest($1::text[]) WITH ORDINALITY x (name, i)
		LEFT JOIN @schema.entries t USING (name)),
	false
FROM (@evidence) e
