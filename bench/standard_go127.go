//go:build go1.27

package main

import "uuid"

// The standard library has UUIDs from 1.27 on.
func init() {
	peers = append(peers,
		peer{
			name: "UUID v4 standard", bits: 128, call: "uuid, NewV4",
			open: each(ends(infallible(uuid.NewV4))),
		},
		peer{
			name: "UUID v7 standard", bits: 128, call: "uuid, NewV7",
			perSecond: 4096e3,
			open:      each(ends(infallible(uuid.NewV7))),
		},
	)
}
