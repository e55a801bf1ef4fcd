package pgstore

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/lease/internal/setup"
)

// A Config says where in a database the store is.
type Config struct {
	// Schema holds the store; "randflake" if empty.
	Schema string

	// TrustRecovery is what recovery=trusted is in a URL: the word that the database never comes
	// back from a failover without something that it acknowledged.
	TrustRecovery bool
}

// wantURL ends errors about a URL as a whole, which is not shown as it holds a password.
const wantURL = "want postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full&schema=randflake"

// engineParameters are what the driver makes of a URL's parameters itself. It sends others to the
// server as settings, among them misspelled ones.
var engineParameters = strings.Fields(`
	host port dbname database user password passfile service servicefile connect_timeout target_session_attrs
	sslmode sslkey sslcert sslcertmode sslrootcert sslnegotiation sslpassword sslsni krbspn krbsrvname
	min_protocol_version max_protocol_version channel_binding require_auth application_name options
	pool_max_conns pool_min_conns pool_min_idle_conns pool_max_conn_lifetime pool_max_conn_lifetime_jitter
	pool_max_conn_idle_time pool_health_check_period pool_ping_timeout`)

// parseURL splits a URL into what is the driver's and what is ours.
func parseURL(text string) (*pgxpool.Config, Config, error) {
	if err := setup.CheckURL(text); err != nil {
		return nil, Config{}, fmt.Errorf("pgstore: %w", err)
	}
	base, query, _ := strings.Cut(text, "?")
	if !strings.HasPrefix(base, "postgres://") && !strings.HasPrefix(base, "postgresql://") {
		return nil, Config{}, errors.New("pgstore: URL: " + wantURL)
	}
	parameters, config, err := splitQuery(query)
	if err != nil {
		return nil, Config{}, fmt.Errorf("pgstore: URL: %w", err)
	}
	pool, err := pgxpool.ParseConfig(base + "?" + strings.Join(parameters, "&"))
	if err != nil {
		return nil, Config{}, fmt.Errorf("pgstore: URL: %s: %s", reason(err), wantURL)
	}
	return pool, config, nil
}

// splitQuery takes our parameters out of a URL's query and returns the others as they are.
func splitQuery(query string) (rest []string, config Config, err error) {
	for parameter := range strings.SplitSeq(query, "&") {
		if parameter == "" {
			continue
		}
		name, value, _ := strings.Cut(parameter, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		switch {
		case nameErr != nil || valueErr != nil:
			return nil, config, fmt.Errorf("parameter %q is not encoded as URLs are", name)
		case name == "schema":
			if config.Schema = value; value == "" {
				return nil, config, errors.New(`schema "": want a name`)
			}
		case name == "recovery" && value == "trusted":
			config.TrustRecovery = true
		case name == "recovery":
			return nil, config, fmt.Errorf(`recovery %q: want "trusted", or no such parameter`, value)
		case !isEngineParameter(name):
			return nil, config, fmt.Errorf("unknown parameter %q: want schema, recovery, or one of %s", name, strings.Join(engineParameters, ", "))
		default:
			rest = append(rest, parameter)
		}
	}
	return rest, config, nil
}

func isEngineParameter(name string) bool {
	for _, known := range engineParameters {
		if name == known {
			return true
		}
	}
	return false
}

// reason returns what the driver has against a URL, without the URL.
func reason(err error) string {
	text := err.Error()
	if parse := new(pgconn.ParseConfigError); errors.As(err, &parse) {
		if i := strings.LastIndex(text, "`: "); i >= 0 {
			text = text[i+len("`: "):]
		}
	}
	return text
}
