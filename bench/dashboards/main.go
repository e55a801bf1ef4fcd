// Command dashboards draws the pictures of the dashboards in docs. For ten minutes it runs a Prometheus, a randflaked and a
// process with the library on one Redis, which does not answer from minute 2 to 4 and has nearly no free nodes from minute 6
// to 8. Then it draws what the dashboards' queries return.
//
//	go run ./dashboards     in bench: into ../docs/pictures
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	apiv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/metrics"
	"github.com/randflake/randflake/metrics/prom"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/redisstore"
	"github.com/randflake/randflake/store/storetest/servers"
)

func main() {
	dir, err := os.MkdirTemp("", "dashboards")
	if err == nil {
		err = errors.Join(run(context.Background(), dir), os.RemoveAll(dir))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	redis, err := servers.StartRedis(filepath.Join(dir, "redis"))
	if err != nil {
		return err
	}
	defer redis.Kill()
	storeURL, secret := redis.URL()+"?replicas=0", randflake.NewSecret()
	space, err := redisstore.Create(ctx, storeURL, store.ForNewSecret())
	if err != nil {
		return err
	}
	defer space.Close()

	// The process with the library makes an ID each millisecond, or fewer.
	monitor, registry := new(lease.Monitor), prometheus.NewRegistry()
	registry.MustRegister(prom.NewCollector(metrics.Build(""), monitor, lease.UsageReporter(space, 0)))
	keeper, err := lease.Keep(ctx, lease.On(space), secret, lease.WithTTL(time.Minute), lease.WithMonitor(monitor))
	if err != nil {
		return err
	}
	defer keeper.Close()
	go repeat(time.Millisecond, func() { keeper.Generator().Generate() })
	library, err := servers.New("library", filepath.Join(dir, "library"), nil) // for a free port
	if err != nil {
		return err
	}
	go http.ListenAndServe(library.Addr(), promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	// The service gets 20 calls a second that make IDs, and 20 that take numbers.
	program, file := filepath.Join(dir, "program"), filepath.Join(dir, "secret")
	said, err := exec.Command("go", "build", "-o", program, "github.com/randflake/randflake/service/cmd/randflaked").CombinedOutput()
	if err = errors.Join(err, os.WriteFile(file, []byte(secret.Hex()), 0o600)); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	service, err := launch(dir, program, "/readyz", "listen: %[1]q\naudit: %[2]q\ncounters: [{name: invoices, space: orders}]\n"+
		"spaces: [{name: orders, kind: randflake, store: %[3]q, secret: mint, secretFile: %[4]q}]\n", filepath.Join(dir, "audit"), storeURL, file)
	if err != nil {
		return err
	}
	defer service.Kill()
	for _, path := range []string{"/v1/spaces/orders/ids?count=100", "/v1/counters/invoices/next"} {
		go repeat(50*time.Millisecond, func() { go ask(http.MethodPost, "http://"+service.Addr()+path) })
	}
	watcher, err := launch(dir, "prometheus", "/-/ready", "global: {scrape_interval: 5s}\nscrape_configs:\n"+
		"- {job_name: orders, static_configs: [{targets: [%[2]q]}]}\n- {job_name: randflaked, static_configs: [{targets: [%[3]q]}]}\n", library.Addr(), service.Addr())
	if err != nil {
		return err
	}
	defer watcher.Kill()

	begun := time.Now()
	for _, fault := range []func() error{redis.Pause, redis.Resume, func() error {
		for nodes := 1 << 16; nodes > 0; nodes /= 2 { // as many as there are in one piece
			lease.On(space).Acquire(ctx, lease.Request{Nodes: nodes, TTL: 2 * time.Minute})
		}
		return nil
	}} {
		time.Sleep(2 * time.Minute)
		if err := fault(); err != nil {
			return err
		}
	}
	time.Sleep(4 * time.Minute)
	client, err := api.NewClient(api.Config{Address: "http://" + watcher.Addr()})
	if err != nil {
		return err
	}
	span := apiv1.Range{Start: begun, End: time.Now(), Step: 5 * time.Second}
	return errors.Join(draw(ctx, apiv1.NewAPI(client), "library", span), draw(ctx, apiv1.NewAPI(client), "service", span))
}

func repeat(pause time.Duration, do func()) {
	for range time.Tick(pause) {
		do()
	}
}

// ask reports whether a server answers that all is well.
func ask(method, url string) bool {
	request, _ := http.NewRequest(method, url, nil)
	answer, err := http.DefaultClient.Do(request)
	if err == nil {
		answer.Body.Close()
	}
	return err == nil && answer.StatusCode == http.StatusOK
}

// launch starts randflaked or Prometheus with a configuration, whose first argument is the address, and waits until it is ready.
func launch(dir, program, path, config string, args ...any) (*servers.Server, error) {
	s, err := servers.New(filepath.Base(program), filepath.Join(dir, "of-"+filepath.Base(program)), nil)
	if err != nil {
		return nil, err
	}
	words := []string{"--config", s.Dir() + "/config.yaml"}
	if program == "prometheus" {
		words = []string{"--config.file", words[1], "--web.listen-address", s.Addr(), "--storage.tsdb.path", s.Dir() + "/data"}
		config = "# at %[1]s\n" + config
	}
	if err := os.WriteFile(s.Dir()+"/config.yaml", fmt.Appendf(nil, config, append([]any{s.Addr()}, args...)...), 0o600); err != nil {
		return nil, err
	}
	return s, s.Launch(exec.Command(program, words...), func() bool { return ask(http.MethodGet, "http://"+s.Addr()+path) })
}

var label = regexp.MustCompile(`\{\{(\w+)\}\}`)

// draw draws what the queries of a dashboard return, with all values of its variables.
func draw(ctx context.Context, prometheus apiv1.API, name string, span apiv1.Range) error {
	var dashboard struct {
		Panels []struct {
			Title       string
			FieldConfig struct{ Defaults struct{ Unit string } }
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	text, err := os.ReadFile("../deploy/chart/dashboards/" + name + ".json")
	if err = errors.Join(err, json.Unmarshal(text, &dashboard)); err != nil {
		return err
	}
	var plots []*plot.Plot
	for _, panel := range dashboard.Panels {
		var curves []figure.Curve
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$__rate_interval", "20s", "$job", "orders", "$space", ".*").Replace(target.Expr)
			value, _, _, err := prometheus.QueryRange(ctx, expr, span)
			if matrix, ok := value.(model.Matrix); err != nil || !ok || len(matrix) == 0 {
				return fmt.Errorf("%s: %s: no data: %w", panel.Title, expr, err)
			}
			for _, series := range value.(model.Matrix) {
				curve := figure.Curve{Name: label.ReplaceAllStringFunc(target.LegendFormat, func(l string) string { return string(series.Metric[model.LabelName(strings.Trim(l, "{}"))]) })}
				for _, v := range series.Values {
					if !math.IsNaN(float64(v.Value)) {
						curve.Points = append(curve.Points, plotter.XY{X: v.Timestamp.Time().Sub(span.Start).Minutes(), Y: float64(v.Value)})
					}
				}
				if len(curve.Points) > 0 {
					curves = append(curves, curve)
				}
			}
		}
		p := figure.New(panel.Title, figure.Axis{Label: "minutes"}, figure.Axis{Label: panel.FieldConfig.Defaults.Unit})
		if err := figure.Curves(p, curves...); err != nil {
			return err
		}
		p.Legend.Top, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = true, 0, 10, 0, max((1.15+0.12*float64(len(curves)))*p.Y.Max, 0.001) // with room for the legend
		plots = append(plots, p)
	}
	light, dark, err := figure.Draw(900, 220*math.Ceil(float64(len(plots))/2), 2, plots...)
	return errors.Join(err, os.MkdirAll("../docs/pictures", 0o755), os.WriteFile("../docs/pictures/"+name+".svg", light, 0o644),
		os.WriteFile("../docs/pictures/"+name+"-dark.svg", dark, 0o644))
}
