package main

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/randflake/randflake/mask"
)

// An Order is a row of the table, and also what clients see.
type Order struct {
	ID       OrderID `json:"id"`
	Item     string  `json:"item"`
	Quantity int     `json:"quantity"`
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /orders", s.route(s.create))
	mux.Handle("GET /orders", s.route(s.list))
	mux.Handle("GET /orders/{id}", s.route(s.get))
	mux.HandleFunc("GET /readyz", s.ready)
	return mux
}

// ready answers a startup probe: whether the lease has started, so that orders can be made.
func (s *shop) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.keeper.Generator().Ready(); err != nil {
		s.log.Info("not ready", "error", err)
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
	}
}

// route answers with what handle returns as JSON, and logs. Of an error clients see the status alone.
// The log has all of it: SQLite's errors name no keys, as those of other databases may.
func (s *shop) route(handle func(w http.ResponseWriter, r *http.Request) (status int, body any, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, err := handle(w, r)
		if err != nil {
			status, body = statusOf(err), map[string]string{"error": http.StatusText(statusOf(err))}
		}
		s.log.Info("request", "method", r.Method, "url", r.URL.String(), "status", status, "error", err)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false) // the & of links
		encoder.Encode(body)
	})
}

var errRequest = errors.New("bad request")

func statusOf(err error) int {
	switch {
	case errors.Is(err, errRequest):
		return http.StatusBadRequest
	case errors.Is(err, mask.ErrInvalidID), errors.Is(err, sql.ErrNoRows):
		return http.StatusNotFound // what can't be an ID and what isn't one look alike
	}
	return http.StatusInternalServerError
}

func (s *shop) create(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var order Order
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&order)
	if err != nil || order.ID != (OrderID{}) || order.Item == "" || order.Quantity < 1 {
		return 0, nil, fmt.Errorf("%w: want an item and a quantity, and no ID: %v", errRequest, err)
	}
	id, err := s.keeper.Generator().Wait(r.Context())
	if err != nil {
		return 0, nil, err
	}
	order.ID = mask.Of[orders](id)
	if _, err := s.db.ExecContext(r.Context(), `INSERT INTO orders (id, item, quantity) VALUES (?, ?, ?)`, order.ID, order.Item, order.Quantity); err != nil {
		return 0, nil, err
	}
	w.Header().Set("Location", "/orders/"+order.ID.String())
	return http.StatusCreated, order, nil
}

func (s *shop) get(w http.ResponseWriter, r *http.Request) (int, any, error) {
	id, err := mask.Parse[orders](r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	order := Order{ID: id}
	err = s.db.QueryRowContext(r.Context(), `SELECT item, quantity FROM orders WHERE id = ?`, id).Scan(&order.Item, &order.Quantity)
	return http.StatusOK, order, err
}

// A page lists orders in the order in which they were made.
type page struct {
	Orders []Order `json:"orders"`
	Next   string  `json:"next,omitempty"` // the URL of the next page, if there is one
}

func (s *shop) list(w http.ResponseWriter, r *http.Request) (int, any, error) {
	limit, limitErr := strconv.Atoi(cmp.Or(r.FormValue("limit"), "20"))
	after, afterErr := mask.Parse[orders](cmp.Or(r.FormValue("after"), OrderID{}.String())) // zero is before all
	if err := errors.Join(limitErr, afterErr); err != nil || limit < 1 || limit > 100 {
		return 0, nil, fmt.Errorf("%w: want limit, 1 to 100, and after, an ID: %v", errRequest, err)
	}
	// The database compares inner IDs, and one row more tells whether there is a next page.
	rows, err := s.db.QueryContext(r.Context(), `SELECT id, item, quantity FROM orders WHERE id > ? ORDER BY id LIMIT ?`, after, limit+1)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	p := page{Orders: []Order{}}
	for rows.Next() {
		var order Order
		if err := rows.Scan(&order.ID, &order.Item, &order.Quantity); err != nil {
			return 0, nil, err
		}
		p.Orders = append(p.Orders, order)
	}
	if len(p.Orders) > limit {
		p.Orders = p.Orders[:limit]
		p.Next = fmt.Sprintf("/orders?after=%v&limit=%d", p.Orders[limit-1].ID, limit)
		w.Header().Set("Link", "<"+p.Next+`>; rel="next"`)
	}
	return http.StatusOK, p, rows.Err()
}
