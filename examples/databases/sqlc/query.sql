-- name: AddOrder :exec
INSERT INTO orders (id, item) VALUES ($1, $2);

-- name: OrderByID :one
SELECT id, item FROM orders WHERE id = $1;
