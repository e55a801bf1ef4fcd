// Package page shows people how a service stands: HTML without a script, and nothing on it changes anything.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"time"
)

// A Frame is what every page begins and ends with.
type Frame struct {
	Replica string // name of the machine, as others are behind the same address
	Started time.Time
	At      time.Time // the present
	Trouble string    // why the service is not ready, or ""
}

// An Overview is of all spaces that its reader may see.
type Overview struct {
	Frame
	ReadySpaces  int
	Leases       int // that are held in all spaces
	Spaces       []Space
	SpacePages   Pager
	Renewals     []Bar
	Renewed      uint64
	Counters     []Counter
	CounterPages Pager
	Refusals     []Refusal
	RefusalPages Pager
	Losses       []Loss
}

// A Detail is of one space.
type Detail struct {
	Frame
	Space
	Where       string // its store
	Own         *Own   // nil where the service makes no IDs of it
	Holders     []Holder
	HolderPages Pager
	NoHolders   string // why there is no list of them, or ""
	Strip       []Cell
	Loss        Loss
	Counters    []Counter
}

// A Space says how one stands.
type Space struct {
	Name, Kind, Secret, Engine string

	Trouble string // why it is not ready, or ""
	Known   bool   // whether the following is
	Unknown string // why not
	Holders int
	Nodes   int // that there are, 0 where its IDs need none
	Leased  int // of them
	Losses  uint64
}

// Free returns how many nodes nobody has.
func (s Space) Free() int { return max(0, s.Nodes-s.Leased) }

// An Own is the service's lease.
type Own struct {
	First, Last uint32
	Until       time.Time
	Issued      uint64
	Trouble     string
}

// A Holder has a lease.
type Holder struct {
	First, Last uint32
	Principal   string // or "" where it is not known
	Lease       string // as the audit log names it
	Since       time.Time
	Until       time.Time
}

// Nodes returns how many it has.
func (h Holder) Nodes() int { return int(h.Last-h.First) + 1 }

// A Counter says how one stands.
type Counter struct {
	Name, Space string
	Next        int64
	Left        uint64
	Used        float64 // part of its numbers, 0 to 1
	Taken       uint64
	Returned    uint64
	Skipped     uint64
	Changed     time.Time
	Forgotten   bool
}

// A Refusal is a call that failed.
type Refusal struct {
	At                                     time.Time
	Principal, Space, Procedure, Code, Why string
}

// A Loss says what a space remembers of losses of its data.
type Loss struct {
	Space              string
	Times              uint64
	Floor              time.Time // nothing is granted that starts before, or zero
	BarredFrom, Barred time.Time // nor anything in between, or zero
}

// A Bar is one of a histogram.
type Bar struct {
	Label string
	Count uint64
	Part  float64 // of the longest one, 0 to 1
}

// A Cell is a part of all nodes.
type Cell struct {
	First, Last int
	Part        float64 // that is leased
}

//go:embed page.html
var source string

//go:embed style.css
var style template.CSS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"style": func() template.CSS { return style }, "n": Number, "relative": relative, "stamp": stamp, "iso": iso, "width": width, "shade": shade,
}).Parse(source))

// security lets a page do nothing but be looked at: no script, no other style than its own, no frame around it.
var security = func() string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// Write writes the page of an Overview or a Detail.
func Write(w http.ResponseWriter, data any) error {
	name := "overview"
	if _, ok := data.(Detail); ok {
		name = "detail"
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", security)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	_, err := w.Write(b.Bytes())
	return err
}

// Title returns what the title begins with.
func (Overview) Title() string { return "" }

// Title returns what the title begins with.
func (d Detail) Title() string { return d.Name }

// LeasedPart returns which part of the nodes is leased.
func (s Space) LeasedPart() float64 { return float64(s.Leased) / float64(max(1, s.Nodes)) }

// LastNode returns the highest node.
func (s Space) LastNode() int { return s.Nodes - 1 }
