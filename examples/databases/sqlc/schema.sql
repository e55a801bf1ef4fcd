CREATE TABLE orders (
  id   bigint PRIMARY KEY,
  item text NOT NULL
);

CREATE TABLE customers (
  id   bigint PRIMARY KEY,
  name text NOT NULL
);
