package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/snowflake/bases"
)

// A tape keeps all that a shop lets out: log lines and whole responses.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tape) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// A client talks to a shop and tapes what it gets.
type client struct {
	t    *testing.T
	url  string
	tape *tape
}

// do sends a request and decodes the answer into body, unless that is nil.
func (c *client) do(method, path, payload string, body any) *http.Response {
	c.t.Helper()
	request, err := http.NewRequest(method, c.url+path, strings.NewReader(payload))
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	dump, err := httputil.DumpResponse(response, true)
	if err != nil {
		c.t.Fatal(err)
	}
	c.tape.Write(dump)
	data, _ := io.ReadAll(response.Body)
	if body != nil {
		if err := json.Unmarshal(data, body); err != nil {
			c.t.Errorf("%s %s: %v: %s", method, path, err, data)
		}
	}
	return response
}

// want is do for those who want a status and no more.
func (c *client) want(status int, method, path, payload string) {
	c.t.Helper()
	if response := c.do(method, path, payload, nil); response.StatusCode != status {
		c.t.Errorf("%s %s %s: %s, want %d", method, path, payload, response.Status, status)
	}
}

func openTest(t *testing.T, dir string) (*shop, *tape) {
	t.Helper()
	tape := new(tape)
	s, err := open(context.Background(), dir, slog.New(slog.NewJSONHandler(tape, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	return s, tape
}

func serve(t *testing.T, handler http.Handler, tape *tape) *client {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &client{t, server.URL, tape}
}

// innerIDs asks the database itself.
func innerIDs(t *testing.T, db *sql.DB) (ids []int64) {
	t.Helper()
	rows, err := db.Query(`SELECT id FROM orders ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// Orders are made, every link and page is followed, and errors of all kinds are provoked: no inner
// ID gets out.
func TestNoInnerIDGetsOut(t *testing.T) {
	s, tape := openTest(t, t.TempDir())
	defer s.close()
	c := serve(t, s.handler(), tape)
	const n = 50
	var made []Order
	for i := range n {
		var order, again Order
		response := c.do("POST", "/orders", fmt.Sprintf(`{"item": "tea %d", "quantity": %d}`, i, i+1), &order)
		if response.StatusCode != http.StatusCreated || order.ID == (OrderID{}) || order.Quantity != i+1 {
			t.Fatalf("%s: %v", response.Status, order)
		}
		if location := response.Header.Get("Location"); location != "/orders/"+order.ID.String() {
			t.Fatalf("Location %q of order %v", location, order.ID)
		}
		if c.do("GET", response.Header.Get("Location"), "", &again); again != order {
			t.Fatalf("%v read back as %v", order, again)
		}
		made = append(made, order)
	}
	inner := innerIDs(t, s.db)
	for i, id := range inner {
		if made[i].ID.Inner() != snowflake.ID(id) {
			t.Fatalf("key %d is not that of order %d", id, i)
		}
	}

	var listed []Order
	for next := "/orders?limit=7"; next != ""; {
		var p page
		response := c.do("GET", next, "", &p)
		if link := response.Header.Get("Link"); link != "" && link != "<"+p.Next+`>; rel="next"` || (link == "") != (p.Next == "") {
			t.Errorf("Link %q, next %q", link, p.Next)
		}
		if len(p.Orders) > 7 {
			t.Fatalf("%d orders on a page", len(p.Orders))
		}
		listed, next = append(listed, p.Orders...), p.Next
	}
	if !slices.Equal(listed, made) {
		t.Errorf("the pages list %d orders, or others, or in another order than made: %v", len(listed), listed)
	}

	future, _, err := layout.Range(layout.Expires().AddDate(-1, 0, 0), layout.Expires())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"no-ID", strings.ToUpper(made[0].ID.String()), mask.Of[orders](future).String(), mask.Of[orders](snowflake.ID(1)).String()} {
		c.want(http.StatusNotFound, "GET", "/orders/"+path, "")
	}
	for _, query := range []string{"after=no-ID", "after=" + mask.Of[orders](future).String(), "limit=0", "limit=101", "limit=x"} {
		c.want(http.StatusBadRequest, "GET", "/orders?"+query, "")
	}
	for _, payload := range []string{``, `{}`, `[]`, `{"id": 7, "item": "tea", "quantity": 1}`, `{"id": "no ID"}`, fmt.Sprintf(`{"id": %q, "item": "tea", "quantity": 1}`, made[0].ID), `{"item": "tea", "quantity": 0}`} {
		c.want(http.StatusBadRequest, "POST", "/orders", payload)
	}
	if _, err := s.db.Exec(`DELETE FROM orders WHERE id = ?`, made[0].ID); err != nil {
		t.Fatal(err)
	}
	c.want(http.StatusNotFound, "GET", "/orders/"+made[0].ID.String(), "")
	// A table that is gone fails in the middle of things.
	if _, err := s.db.Exec(`ALTER TABLE orders RENAME TO lost`); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/orders/" + made[1].ID.String(), "/orders?after=" + made[1].ID.String(), "/orders"} {
		c.want(http.StatusInternalServerError, "GET", path, "")
	}
	c.want(http.StatusInternalServerError, "POST", "/orders", `{"item": "tea", "quantity": 1}`)

	text := tape.String()
	if !strings.Contains(text, made[0].ID.String()) || strings.Count(text, `"msg":"request"`) < 100 {
		t.Error("the tape does not hold what was said")
	}
	for _, id := range inner {
		if form, found := leak(text, uint64(id)); found {
			t.Errorf("inner ID %d got out as %s", id, form)
		}
	}
}

// A handler that leaks, in a way of its own each time, is found out.
func TestLeaksAreFound(t *testing.T) {
	s, out := openTest(t, t.TempDir())
	defer s.close()
	var order Order
	serve(t, s.handler(), out).do("POST", "/orders", `{"item": "tea", "quantity": 1}`, &order)
	inner := uint64(order.ID.Inner())
	for name, show := range map[string]func(w http.ResponseWriter, log *slog.Logger, text string){
		"body":   func(w http.ResponseWriter, _ *slog.Logger, text string) { fmt.Fprintf(w, `{"next": %q}`, text) },
		"header": func(w http.ResponseWriter, _ *slog.Logger, text string) { w.Header().Set("Location", "/orders/"+text) },
		"cookie": func(w http.ResponseWriter, _ *slog.Logger, text string) {
			http.SetCookie(w, &http.Cookie{Name: "last", Value: text})
		},
		"error": func(w http.ResponseWriter, _ *slog.Logger, text string) { http.Error(w, "no order "+text, 404) },
		"log":   func(_ http.ResponseWriter, log *slog.Logger, text string) { log.Debug("made", "id", text) },
	} {
		for _, form := range forms(inner) {
			tape := new(tape)
			log := slog.New(slog.NewTextHandler(tape, &slog.HandlerOptions{Level: slog.LevelDebug}))
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { show(w, log, form) })
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
			dump, err := httputil.DumpResponse(recorder.Result(), true)
			if err != nil {
				t.Fatal(err)
			}
			tape.Write(dump)
			if _, found := leak(tape.String(), inner); !found {
				t.Errorf("a leak of %s in the %s is not found: %s", form, name, tape)
			}
		}
	}
	if form, found := leak(order.ID.String(), inner); found {
		t.Errorf("the masked form passes for %s", form)
	}
}

// leak looks for value in text, in any form and in letters of either case.
func leak(text string, value uint64) (form string, found bool) {
	text = strings.ToLower(text)
	for _, form := range forms(value) {
		if strings.Contains(text, strings.ToLower(form)) {
			return form, true
		}
	}
	return "", false
}

// forms returns value in the forms of snowflake.ID, in all bases from 8 to 62, and its bytes in
// hexadecimal, base32 and base64.
func forms(value uint64) []string {
	all := []string{bases.Format32(snowflake.ID(value)), bases.Format58(snowflake.ID(value)), bases.Format62(snowflake.ID(value))}
	for base := 8; base <= big.MaxBase; base++ {
		all = append(all, new(big.Int).SetUint64(value).Text(base))
	}
	for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
		b := order.AppendUint64(nil, value)
		all = append(all, hex.EncodeToString(b), base32.StdEncoding.EncodeToString(b)[:13], base32.HexEncoding.EncodeToString(b)[:13],
			base64.RawStdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b))
	}
	return all
}

// What was handed out is good after a restart, which needs no set-up, nor does the first start.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var made []Order
	for range 3 {
		s, tape := openTest(t, dir)
		c := serve(t, s.handler(), tape)
		var order Order
		c.do("POST", "/orders", `{"item": "tea", "quantity": 1}`, &order)
		made = append(made, order)
		for _, order := range made {
			var got Order
			if c.do("GET", "/orders/"+order.ID.String(), "", &got); got != order {
				t.Errorf("%v read back as %v", order, got)
			}
		}
		var p page
		if c.do("GET", "/orders", "", &p); !slices.Equal(p.Orders, made) {
			t.Errorf("listed %v, want %v", p.Orders, made)
		}
		c.want(http.StatusOK, "GET", "/readyz", "")
		if err := s.close(); err != nil {
			t.Error(err)
		}
		c.want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	}
	info, err := os.Stat(filepath.Join(dir, "secret"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret's file: %v, %v", info.Mode(), err)
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	made, err := secret(dir)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := secret(dir); !kept.Equal(made) || err != nil {
		t.Errorf("the second time: %v", err)
	}
	t.Setenv("ORDERS_SECRET", "000102030405060708090a0b0c0d0e0f")
	if given, err := secret(dir); err != nil || given.Hex() != "000102030405060708090a0b0c0d0e0f" {
		t.Errorf("from the environment: %v", err)
	}
	t.Setenv("ORDERS_SECRET", "short")
	if _, err := secret(dir); err == nil {
		t.Error("a bad secret in the environment is passed over")
	}
}

// Few made-up IDs get as far as the database: about one in 74 at the end of 2026, and one in two if there were no Check.
func TestFewForgeriesOpen(t *testing.T) {
	orderMasker = newMasker(randflake.NewSecret())
	const n = 20000
	opened := 0
	for range n {
		if _, err := mask.Parse[orders, snowflake.ID](randflake.Typed[orders](rand.Uint64()).String()); err == nil {
			opened++
		}
	}
	used := time.Since(layout.Epoch()).Seconds() / layout.Expires().Sub(layout.Epoch()).Seconds()
	if share := float64(opened) / n; share < used/2*0.5 || share > used/2*1.5 {
		t.Errorf("%d of %d open, want half of the share of the layout's time that has passed, %.4f", opened, n, used)
	}
}
