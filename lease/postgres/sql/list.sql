SELECT array_agg(name), array_agg(value)
FROM (SELECT name, value FROM @schema.entries WHERE name > $2 AND name >= $1 AND name < $1 || '~' ORDER BY name LIMIT $3::integer) t
