package main

// What the queries select: the series of the jobs, or spaces, that the reader chooses.
const (
	ofJob   = `{job=~"$job"}`
	ofSpace = `{space=~"$space"}`
	ofOwn   = `{space=~"$space", space!=""}` // without those of other programs, which have no spaces
)

var dashboards = []dashboard{
	{
		file: "library.json", title: "Randflake: generators and their store", chosen: "job", from: "randflake_lease_end_timestamp_seconds",
		panels: []panel{
			{"IDs made", "ops", "Per second.", []query{
				{"{{instance}}", `rate(randflake_ids_issued_total` + ofJob + `[$__rate_interval])`}}},
			{"IDs refused, and calls that waited", "ops", "Refused calls got an error. Calls that waited were served, unless they are refused as well.", []query{
				{"refused {{instance}}", `rate(randflake_ids_refused_total` + ofJob + `[$__rate_interval])`},
				{"waited {{instance}}", `rate(randflake_ids_waits_total` + ofJob + `[$__rate_interval])`}}},
			{"Time left of the lease", "s", "Never less than half the TTL while the store answers. At 0 no more IDs are made.", []query{
				{"{{instance}}", `clamp_min(randflake_lease_end_timestamp_seconds` + ofJob + ` - time(), 0)`}}},
			{"Failures", "short", "In the last five minutes.", []query{
				{"acquire {{instance}}", `increase(randflake_lease_acquisition_failures_total` + ofJob + `[5m])`},
				{"renew {{instance}}", `increase(randflake_lease_renewal_failures_total` + ofJob + `[5m])`},
				{"lost {{instance}}", `increase(randflake_lease_losses_total` + ofJob + `[5m])`}}},
			{"Nodes", "short", "Poisoned nodes can't be leased because of a wrong clock.", []query{
				{"{{state}}", `max by (state) (randflake_store_nodes` + ofJob + `)`}}},
			{"Free nodes", "percentunit", "The part of all nodes.", []query{
				{"free", `min(randflake_store_nodes_free_ratio` + ofJob + `)`}}},
			{"Store answers", "short", "1 if it answered the last time, otherwise 0; and how often it has lost data.", []query{
				{"answers {{instance}}", `randflake_store_up` + ofJob},
				{"losses", `max(randflake_store_losses_total` + ofJob + `)`}}},
			{"Clock of the store's server, against each process", "s", "More than the store's MaxSkew, and the process gets no lease.", []query{
				{"{{instance}}", `abs(randflake_store_clock_offset_seconds` + ofJob + `)`},
				{"MaxSkew", `max(randflake_store_max_skew_seconds` + ofJob + `)`}}},
		},
	},
	{
		file: "service.json", title: "Randflake: service randflaked", chosen: "space", from: "randflaked_space_ready",
		panels: []panel{
			{"Calls", "reqps", "Per second, by procedure.", []query{
				{"{{procedure}}", `sum by (procedure) (rate(randflaked_calls_total` + ofSpace + `[$__rate_interval]))`}}},
			{"Calls that failed", "reqps", "Per second, by code.", []query{
				{"{{code}}", `sum by (code) (rate(randflaked_calls_total{space=~"$space", code!="ok"}[$__rate_interval]))`}}},
			{"Time of a call", "s", "All but one call in a hundred took at most this long.", []query{
				{"{{procedure}}", `histogram_quantile(0.99, sum by (procedure, le) (rate(randflaked_call_seconds_bucket` + ofSpace + `[$__rate_interval])))`}}},
			{"Time of a renewal in the store", "s", "Half of the renewals, and all but one in a hundred, took at most this long.", []query{
				{"half", `histogram_quantile(0.5, sum by (le) (rate(randflaked_renewal_seconds_bucket` + ofSpace + `[5m])))`},
				{"99 of 100", `histogram_quantile(0.99, sum by (le) (rate(randflaked_renewal_seconds_bucket` + ofSpace + `[5m])))`}}},
			{"Leases", "short", "In the last five minutes, by what became of them.", []query{
				{"{{outcome}}", `sum by (outcome) (increase(randflaked_leases_total` + ofSpace + `[5m]))`}}},
			{"Time left of the service's own leases", "s", "Never less than half the TTL while the store answers. At 0 the service makes no IDs in that space.", []query{
				{"{{space}} {{instance}}", `clamp_min(randflake_lease_end_timestamp_seconds` + ofOwn + ` - time(), 0)`}}},
			{"Spaces that can serve", "short", "1 or 0, on each replica.", []query{
				{"{{space}} {{instance}}", `randflaked_space_ready` + ofSpace}}},
			{"Free nodes", "percentunit", "The part of all nodes.", []query{
				{"{{space}}", `min by (space) (randflake_store_nodes_free_ratio` + ofOwn + `)`}}},
			{"Numbers of counters", "ops", "Given to callers, per second.", []query{
				{"{{counter}}", `sum by (counter) (rate(randflake_counter_issued_total` + ofOwn + `[$__rate_interval]))`}}},
			{"Audit log", "short", "Lines that could not be written, in the last five minutes.", []query{
				{"{{instance}}", `increase(randflaked_audit_lines_lost_total[5m])`}}},
		},
	},
}
