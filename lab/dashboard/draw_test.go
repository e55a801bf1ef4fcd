// Package dashboard draws docs/dashboard.svg: what Prometheus would have recorded of two processes.
//
//	cd lab && GOWORK=off go test ./dashboard -draw ../../docs/dashboard.svg
package dashboard

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/metrics"
)

var draw = flag.String("draw", "", "draw the dashboard into a `file`")

// What is recorded.
const (
	step    = 30 * time.Second
	samples = 61
)

var (
	begin    = time.Date(2026, time.November, 29, 10, 0, 0, 0, time.UTC)
	awayFrom = begin.Add(10 * time.Minute)
	backAt   = begin.Add(17 * time.Minute)
)

// A process makes IDs, and numbers of a counter.
type process struct {
	keeper  *lease.Keeper[*randflake.Generator]
	counter *counter.Counter
	pace    float64 // beside the other one's
	record  [samples]map[string]float64
}

func newProcess(t *testing.T, space *lease.Space, secret randflake.Secret, of string, pace float64) *process {
	keeper, err := lease.Keep(t.Context(), space, secret)
	require.NoError(t, err)
	numbers, err := counter.From(space).Open(t.Context(), of, counter.OrCreate(counter.Config{}))
	require.NoError(t, err)
	return &process{keeper: keeper, counter: numbers, pace: pace}
}

// work is what the process does within a second.
func (p *process) work() {
	now := time.Now()
	busy := p.pace * (1 + .2*math.Sin(now.Sub(begin).Minutes()/4)) * (.9 + .2*rand.Float64())
	for range 20 {
		p.keeper.Generator().Fill(make([]randflake.ID, int(100*busy)))
	}
	p.counter.Fill(make([]int64, int(30*busy)))
	ctx, cancel := context.WithDeadline(context.Background(), now.Add(time.Second/2))
	defer cancel()
	p.keeper.Generator().Wait(ctx)
}

// scrape records the metrics of a moment.
func (p *process) scrape(i int) {
	p.record[i] = map[string]float64{}
	for _, reporter := range []metrics.Reporter{p.keeper, p.counter} {
		for _, m := range reporter.Metrics() {
			p.record[i][strings.TrimPrefix(m.Name, "randflake_")] = m.Value
		}
	}
}

// since returns by how much a counter has grown within so many samples.
func (p *process) since(i, before int, name string) float64 {
	return p.record[i][name] - p.record[max(i-before, 0)][name]
}

// A panel of the dashboard has a line for each process, or two for both.
type panel struct {
	title string
	unit  string
	names [2]string
	value func(line, i int) float64
}

func TestDraw(t *testing.T) {
	if *draw == "" {
		t.Skip("it draws a picture, with -draw")
	}
	var both [2]*process
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(begin.Add(-10 * time.Minute)))
		space, err := lease.Create(t.Context(), leasetest.Intercept(leasetest.NewMemory().Connect(), fail), lease.Config{NeverUsed: true})
		require.NoError(t, err)
		secret := randflake.NewSecret()
		both = [2]*process{newProcess(t, space, secret, "invoices", 1), newProcess(t, space, secret, "tickets", .7)}
		for at := time.Now(); at.Before(begin.Add(samples * step)); at = at.Add(time.Second) {
			time.Sleep(time.Until(at))
			for _, p := range both {
				go p.work()
				if i := int(at.Sub(begin) / step); at.Sub(begin)%step == 0 && i >= 0 {
					p.scrape(i)
				}
			}
		}
		for _, p := range both {
			require.NoError(t, errors.Join(p.keeper.Close(), p.counter.Close()))
		}
	})
	require.NoError(t, os.WriteFile(*draw, []byte(picture(both)), 0o600))
}

// fail fails while the store is away.
func fail(ctx context.Context, c leasetest.Call, engine lease.Engine) (lease.Answer, error) {
	if now := time.Now(); now.After(awayFrom) && now.Before(backAt) {
		return lease.Answer{}, errors.New("connection refused")
	}
	return c.On(ctx, engine)
}

func picture(both [2]*process) string {
	rate := func(name string) func(line, i int) float64 {
		return func(line, i int) float64 { return both[line].since(max(i, 2), 2, name) / (2 * step).Seconds() }
	}
	gauge := func(name string) func(line, i int) float64 {
		return func(line, i int) float64 { return both[line].record[i][name] }
	}
	instances, counters := [2]string{"orders-1", "orders-2"}, [2]string{"invoices", "tickets"}
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 640" font-family="system-ui, sans-serif" font-size="12">
  <title>The dashboard of generators, counters and their store, while the store is away from 10:10 to 10:17</title>
  <style>@media (prefers-color-scheme: dark) { :root { filter: invert(.9) hue-rotate(180deg) } }</style>
  <rect width="860" height="640" fill="#fff"/>
`)
	for i, p := range []panel{
		{"IDs made", "", instances, rate("ids_made_total")},
		{"IDs refused, and calls that waited", "", [2]string{"refused", "waited"}, func(line, i int) float64 {
			name := []string{"id_refusals_total", "id_waits_total"}[line]
			return rate(name)(0, i) + rate(name)(1, i)
		}},
		{"Time left of the leases", " min", instances, func(line, i int) float64 {
			end := gauge("lease_end_timestamp_seconds")(line, i)
			return max(end-float64(begin.Add(time.Duration(i)*step).Unix()), 0) / 60
		}},
		{"Failures", "", instances, func(line, i int) float64 { return both[line].since(i, 10, "lease_failures_total") }},
		{"Healthy generators", "", instances, gauge("lease_healthy")},
		{"Numbers of counters", "", counters, rate("numbers_issued_total")},
		{"Numbers left in memory", "", counters, gauge("numbers_held")},
		{"Healthy counters", "", counters, gauge("counter_healthy")},
	} {
		p.draw(&b, 10+425*(i%2), 10+157*(i/2))
	}
	return b.String() + "</svg>\n"
}

// draw draws a panel whose corner is at x and y.
func (p panel) draw(b *strings.Builder, x, y int) {
	const width, height = 359, 81
	left, bottom := x+44, y+109
	var most float64
	for i := range samples {
		most = max(most, p.value(0, i), p.value(1, i))
	}
	digit := math.Pow(10, math.Floor(math.Log10(max(most, 1))))
	most = math.Ceil(max(most, 1)/digit) * digit
	text := func(x, y int, more, text string) {
		fmt.Fprintf(b, "  <text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, more, text)
	}
	fmt.Fprintf(b, "\n  <rect x=\"%d\" y=\"%d\" width=\"415\" height=\"147\" fill=\"none\" stroke=\"#ccc\"/>\n", x, y)
	text(x+8, y+17, ` font-weight="bold"`, p.title)
	for _, value := range []float64{0, most} {
		at := bottom - int(height*value/most)
		fmt.Fprintf(b, "  <path d=\"M%d %dh%d\" stroke=\"#e3e3e3\"/>\n", left, at, width)
		text(left-5, at+4, ` text-anchor="end" fill="#555"`, fmt.Sprint(value, p.unit))
	}
	for minutes := 0; minutes < 30; minutes += 10 {
		at := left + int(float64(width)*float64(minutes)/30)
		text(at, bottom+15, ` text-anchor="middle" fill="#555"`, fmt.Sprintf("10:%02d", minutes))
	}
	for line, color := range []string{"#2f6fb5", "#c77c11"} {
		fmt.Fprintf(b, "  <polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", color)
		for i := range samples {
			fmt.Fprintf(b, " %.0f,%.1f", float64(left)+width*float64(i)/(samples-1), float64(bottom)-height*p.value(line, i)/most+2*float64(line))
		}
		b.WriteString("\"/>\n")
		fmt.Fprintf(b, "  <path d=\"M%d %dh14\" stroke=\"%s\" stroke-width=\"2\"/>\n", left+110*line, y+136, color)
		text(left+110*line+19, y+140, "", p.names[line])
	}
}
