package databases

// Tables whose keys are masked numbers of a sequence.
const (
	ordersInPostgres = `
CREATE SEQUENCE order_numbers;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT randflake_mask(nextval('order_numbers')), item text);
`
	ordersInMariaDB = `
CREATE SEQUENCE order_numbers;
CREATE TABLE orders (id BIGINT DEFAULT 0 PRIMARY KEY, item TEXT);
CREATE TRIGGER order_ids BEFORE INSERT ON orders FOR EACH ROW
  SET NEW.id = IF(NEW.id <> 0, NEW.id, randflake_mask(NEXTVAL(order_numbers), @randflake_key));
`
)
