package document

import "net/http"

// ChangedNothing reports whether a status of HTTP says that a server changed nothing, as it may not,
// or doesn't know how to. A timeout may be a proxy's.
func ChangedNothing(status int) bool {
	switch status {
	case http.StatusRequestTimeout:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return status/100 == 4
}
