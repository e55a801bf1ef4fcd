-- Randflake IDs in Snowflake. Give the secret, 32 hexadecimal digits, as a bind variable.
CREATE FUNCTION randflake(id VARCHAR, secret VARCHAR, masking BOOLEAN) RETURNS VARCHAR LANGUAGE JAVASCRIPT STRICT IMMUTABLE AS $$
{{cipher}}
return randflake(ID, SECRET, MASKING);
$$;
CREATE FUNCTION randflake_mask(id NUMBER, secret VARCHAR) RETURNS NUMBER IMMUTABLE AS $$ randflake(id::VARCHAR, secret, TRUE)::NUMBER $$;
CREATE FUNCTION randflake_unmask(id NUMBER, secret VARCHAR) RETURNS NUMBER IMMUTABLE AS $$ randflake(id::VARCHAR, secret, FALSE)::NUMBER $$;
CREATE FUNCTION randflake_time(id NUMBER, secret VARCHAR) RETURNS TIMESTAMP_NTZ IMMUTABLE AS
$$ TO_TIMESTAMP_NTZ(1730000000 + BITAND(BITSHIFTRIGHT(randflake_unmask(id, secret), 34), 1073741823)) $$;
CREATE FUNCTION randflake_node(id NUMBER, secret VARCHAR) RETURNS NUMBER IMMUTABLE AS
$$ BITAND(BITSHIFTRIGHT(randflake_unmask(id, secret), 17), 131071) $$;
CREATE FUNCTION randflake_sequence(id NUMBER, secret VARCHAR) RETURNS NUMBER IMMUTABLE AS
$$ BITAND(randflake_unmask(id, secret), 131071) $$;
