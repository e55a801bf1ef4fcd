package report

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
	"github.com/randflake/randflake"
)

// Meta are the circumstances under which a chapter's data are measured.
type Meta struct {
	Form       string    `csv:"form"` // "full" or "quick"
	Date       time.Time `csv:"date"`
	CPU        string    `csv:"cpu"`
	Processors int       `csv:"processors"`
	GOOS       string    `csv:"goos"`
	GOARCH     string    `csv:"goarch"`
	Go         string    `csv:"go"`
	Backend    string    `csv:"backend"` // see randflake.Backend
	Command    string    `csv:"command"` // in the directory bench
	Seed       uint64    `csv:"seed"`
	Seconds    float64   `csv:"seconds"` // how long the chapter took
}

// NewMeta returns the circumstances of a run that begins now on this machine.
func NewMeta(quick bool, seed uint64) Meta {
	form := "full"
	if quick {
		form = "quick"
	}
	return Meta{
		Form: form,
		Date: time.Now().UTC().Truncate(time.Second),
		// Virtual machines often don't tell the model's name, so family and model are told too.
		CPU:        fmt.Sprintf("%s (family %d, model %d)", strings.TrimSpace(cpuid.CPU.BrandName), cpuid.CPU.Family, cpuid.CPU.Model),
		Processors: runtime.GOMAXPROCS(0),
		GOOS:       runtime.GOOS,
		GOARCH:     runtime.GOARCH,
		Go:         runtime.Version(),
		Backend:    randflake.Backend(),
		Command:    strings.Join(append([]string{"go run ."}, os.Args[1:]...), " "),
		Seed:       seed,
	}
}

// Quick reports whether this is the quick form.
func (m Meta) Quick() bool { return m.Form == "quick" }

// caption returns the line below every table. The data say the rest.
func (m Meta) caption() string {
	return fmt.Sprintf("*%s: %s, %s processors, %s, %s, the %s form.*", m.Date.Format(time.DateOnly), m.CPU, Count(m.Processors), m.Go, m.Backend, m.Form)
}
