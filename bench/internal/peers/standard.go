package peers

// standard returns the UUIDs of the standard library, from Go 1.27 on. Without it they can't be opened, but data from
// there can be shown.
func standard() []Peer {
	return []Peer{{
		Name: "UUID v4 standard", Package: "uuid, NewV4, of Go 1.27",
		Kind: Random, Bits: 128, Limit: "none", Unpredictable: "yes", Sortable: "no",
		Unique: "122 random bits: an even chance of a repeat among 2.7 · 10^18",
		Open:   openStandardV4,
	}, {
		Name: "UUID v7 standard", Package: "uuid, NewV7, of Go 1.27",
		Kind: Sortable, Bits: 128, Limit: "4.1 · 10^6/s in a process; beyond, its time runs ahead", PerSecond: 4096e3, Unpredictable: "yes, but the time shows",
		Sortable: "yes", Unique: "a clock that only grows within the process, unless it is set back, and 62 random bits",
		Open: openStandardV7,
	}}
}
