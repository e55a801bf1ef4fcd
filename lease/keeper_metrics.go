package lease

// A Reporter says how the keeping of a lease fares, at any time and from any goroutine. A [Keeping] is one. What
// monitoring systems read goes by this interface.
type Reporter interface {
	Status() Status
}

var _ Reporter = (*Keeping)(nil)

// A Metric is one number of a [Status], as monitoring systems take it.
type Metric struct {
	// Name is in the style of Prometheus: randflake_ and what it is, with the unit, and _total for a counter. It will
	// not change.
	Name string

	Help    string // a sentence
	Counter bool   // whether it counts since Keep and only goes up; otherwise it is a gauge
	Value   float64
}

// Metrics returns the numbers of s, always the same ones in the same order, whatever s holds. To publish them by
// expvar, OpenTelemetry or another system is a loop; package leaseprom has it for Prometheus.
func (s Status) Metrics() []Metric {
	gauge := func(name, help string, value float64) Metric { return Metric{name, help, false, value} }
	counter := func(name, help string, value uint64) Metric { return Metric{name, help, true, float64(value)} }
	healthy := 0.0
	if s.Healthy {
		healthy = 1
	}
	return []Metric{
		gauge("randflake_lease_healthy", "Whether IDs are made under a lease with more than a third of its time left, 1 or 0.", healthy),
		gauge("randflake_lease_seconds_left", "How long the lease lasts, negative after its end.", s.Left.Seconds()),
		gauge("randflake_leases_held", "How many leases are held, 2 while one replaces the other.", float64(s.Held)),
		counter("randflake_lease_acquisitions_total", "Leases acquired.", s.Acquired),
		counter("randflake_lease_acquisition_failures_total", "Failed attempts to acquire a lease.", s.AcquisitionsFailed),
		counter("randflake_lease_renewals_total", "Renewals.", s.Renewed),
		counter("randflake_lease_renewal_failures_total", "Failed renewals.", s.RenewalsFailed),
		counter("randflake_lease_losses_total", "Leases that the store gave up or gave to somebody else.", s.Lost),
		counter("randflake_lease_freezes_total", "Those of them that could not be used to their end.", s.Frozen),
		counter("randflake_lease_replacements_total", "Times that IDs went on under another lease.", s.Replaced),
		counter("randflake_lease_releases_total", "Leases given back.", s.Released),
		counter("randflake_lease_release_failures_total", "Failed attempts to give a lease back.", s.ReleasesFailed),
		counter("randflake_ids_issued_total", "IDs made.", s.Issued),
		counter("randflake_ids_refused_total", "Times that there was no ID to give, to callers who wait too.", s.Refusals),
		counter("randflake_ids_exhausted_total", "Those of them that wanted more nodes.", s.Exhausted),
	}
}
