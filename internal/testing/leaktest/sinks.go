package leaktest

import (
	"bytes"
	"database/sql"
	"encoding/asn1"
	"encoding/binary"
	"encoding/csv"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"expvar"
	"fmt"
	"go/ast"
	htmltemplate "html/template"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"text/template"
)

// A Record has a value wherever a type can have one, in fields that encoders see and in those that they don't.
type Record[K comparable] struct {
	XMLName xml.Name `xml:"record"`
	Key     K        `xml:"key,attr"`
	ID      K        `json:"id"`
	Pointer *K
	List    []K
	Array   [2]K
	Any     any
	Null    sql.Null[K]
	Inside  struct{ ID K }
	hidden  K
	buried  struct{ list []K }
}

func newRecord[K comparable](id K) Record[K] {
	r := Record[K]{Key: id, ID: id, Pointer: &id, List: []K{id}, Array: [2]K{id, id}, Any: id, Null: sql.Null[K]{V: id, Valid: true}, hidden: id}
	r.Inside.ID, r.buried.list = id, []K{id}
	return r
}

// Verbs that go vet would object to: types are careful for people who write what it does not see.
var wrapped, number = "%w", "%d"

// Sinks are ways in which a value reaches the outside. Each is given a value by itself and in a record,
// and writes them; errors are part of what can be seen.
func Sinks[K comparable]() map[string]func(w io.Writer, id K, r Record[K]) error {
	all := map[string]func(w io.Writer, id K, r Record[K]) error{
		"Println": func(w io.Writer, id K, r Record[K]) error {
			_, err := fmt.Fprintln(w, id, &id, r, &r, map[K]int{id: 1}, []any{id, &r})
			return err
		},
		"errors": func(w io.Writer, id K, r Record[K]) error {
			err := fmt.Errorf("order %v: %w", id, sql.ErrNoRows)
			return errors.Join(fmt.Errorf("all of %v: %w", r, err), fmt.Errorf(wrapped, id))
		},
		"JSON":       func(w io.Writer, id K, r Record[K]) error { return json.NewEncoder(w).Encode(r) },
		"JSON value": func(w io.Writer, id K, r Record[K]) error { return json.NewEncoder(w).Encode(id) },
		"JSON key":   func(w io.Writer, id K, r Record[K]) error { return json.NewEncoder(w).Encode(map[K]int{id: 1}) },
		"XML":        func(w io.Writer, id K, r Record[K]) error { return xml.NewEncoder(w).Encode(r) },
		"gob": func(w io.Writer, id K, r Record[K]) error {
			r.Any = nil // gob wants interfaces registered
			return gob.NewEncoder(w).Encode(r)
		},
		"encoding/binary": func(w io.Writer, id K, r Record[K]) error { return binary.Write(w, binary.BigEndian, id) },
		"encoding/asn1": func(w io.Writer, id K, r Record[K]) error {
			b, err := asn1.Marshal(id)
			_, alsoErr := asn1.Marshal(r)
			w.Write(b)
			return errors.Join(err, alsoErr)
		},
		"go/ast": func(w io.Writer, id K, r Record[K]) error {
			return errors.Join(ast.Fprint(w, nil, id, nil), ast.Fprint(w, nil, &r, nil))
		},
		"text/template": func(w io.Writer, id K, r Record[K]) error {
			return template.Must(template.New("").Parse(`{{.ID}} {{printf "%d %x" .ID .Key}} {{.List}} {{.}} {{html .ID}} {{urlquery .ID}} {{js .ID}}`)).Execute(w, r)
		},
		"html/template": func(w io.Writer, id K, r Record[K]) error {
			return htmltemplate.Must(htmltemplate.New("").Parse(`<a href="/orders/{{.ID}}?after={{.ID}}" title={{.ID}} style="width:{{.ID}}" onclick="open({{.ID}})">{{.ID}} {{.}}</a>
				<script>let order = {{.}}, id = {{.ID}}, text = "{{.ID}}"</script><style>p { width: {{.ID}} }</style>`)).Execute(w, r)
		},
		"slog text": func(w io.Writer, id K, r Record[K]) error { return logged(slog.NewTextHandler(w, timeless), id, r) },
		"slog JSON": func(w io.Writer, id K, r Record[K]) error { return logged(slog.NewJSONHandler(w, timeless), id, r) },
		"log": func(w io.Writer, id K, r Record[K]) error {
			logger := log.New(w, "", 0)
			logger.Println(id, r)
			logger.Printf(number+" %+v", id, r)
			return nil
		},
		"url.Values": func(w io.Writer, id K, r Record[K]) error {
			address := url.URL{Path: fmt.Sprint("/orders/", id), RawQuery: url.Values{"after": {fmt.Sprint(id)}}.Encode()}
			_, err := io.WriteString(w, address.String())
			return err
		},
		"header": func(w io.Writer, id K, r Record[K]) error {
			return http.Header{"Location": {fmt.Sprintf("/orders/"+number, id)}}.Write(w)
		},
		"CSV": func(w io.Writer, id K, r Record[K]) error {
			return csv.NewWriter(w).WriteAll([][]string{{fmt.Sprint(id), fmt.Sprint(r)}})
		},
		"expvar": func(w io.Writer, id K, r Record[K]) error {
			_, err := io.WriteString(w, expvar.Func(func() any { return r }).String())
			return err
		},
	}
	for _, verb := range "vTtbcdoOqxXUeEfFgGspwz" {
		for _, flags := range []string{"", "+", "#", "-30", "030", " "} {
			format := "%" + flags + string(verb)
			all[format] = func(w io.Writer, id K, r Record[K]) error {
				for _, value := range []any{id, r, []K{id}, map[K]bool{id: true}, struct{ hidden K }{id}} {
					fmt.Fprintf(w, format+"\n", value)
				}
				return nil
			}
		}
	}
	return all
}

// Records without their time: its numbers change with each run and can be those of a short part of a secret by chance.
var timeless = &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}}

func logged[K comparable](handler slog.Handler, id K, r Record[K]) error {
	logger := slog.New(handler).With("first", id)
	logger.Info("made", "id", id, "pointer", &id, "record", r, "ids", []K{id}, slog.Group("group", "id", id), "by", map[K]int{id: 1})
	logger.Error("failed", "error", fmt.Errorf("order %v", id))
	return nil
}

// Output returns what the sink makes of a value, and the error that it ends with.
func Output[K comparable](sink func(io.Writer, K, Record[K]) error, id K) string {
	var b bytes.Buffer
	if err := sink(&b, id, newRecord(id)); err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}
