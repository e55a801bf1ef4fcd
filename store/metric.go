package store

// A Metric is one number of how a lease or a counter fares, as monitoring systems take it. To publish metrics by expvar,
// OpenTelemetry or another system is a loop; package leaseprom has it for Prometheus.
type Metric struct {
	// Name is in the style of Prometheus: randflake_ and what it is, with the unit, and _total for a counter. It will
	// not change.
	Name string

	Help    string // a sentence
	Counter bool   // whether it counts from the beginning and only goes up; otherwise it is a gauge
	Value   float64
}
