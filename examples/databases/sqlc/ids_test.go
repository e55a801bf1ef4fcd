package sqlc

import "github.com/randflake/randflake"

type OrderID = randflake.Typed[Order]

func (Order) IDPrefix() string { return "ord" }
