package engine

import "net/url"

// A running server, or a cluster, is one that can die and stand still.
type running interface {
	Kill() error
	Start() error
	Pause() error
	Resume() error
}

// A served is what engines with a server of type S have in common.
type served[S running] struct {
	server S // the one that workers reach
	link   *Link
}

// Crash, Restart, Pause and Resume implement Server and Stalled.
func (e *served[S]) Crash() error   { return e.server.Kill() }
func (e *served[S]) Restart() error { return e.server.Start() }
func (e *served[S]) Pause() error   { return e.server.Pause() }
func (e *served[S]) Resume() error  { return e.server.Resume() }

// Link implements Linked.
func (e *served[S]) Link() *Link { return e.link }

// through returns the URL of a server by way of the link.
func (e *served[S]) through(server string) *url.URL {
	u, err := url.Parse(server)
	if err != nil {
		panic("engine: URL of the server: " + err.Error())
	}
	u.Host = e.link.Address()
	return u
}

// A timed is what engines with a server's clock have in common.
type timed struct{ clock *Clock } // nil if the server has the machine's

// Clock implements Clocked.
func (t timed) Clock() *Clock { return t.clock }
