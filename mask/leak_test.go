package mask

import (
	"bytes"
	"database/sql"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"expvar"
	"fmt"
	htmltemplate "html/template"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/randflake/randflake"
)

// A record has IDs wherever a type can have them, in fields that encoders see and in one that they don't.
type record[K comparable] struct {
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

func newRecord[K comparable](id K) record[K] {
	r := record[K]{Key: id, ID: id, Pointer: &id, List: []K{id}, Array: [2]K{id, id}, Any: id, Null: sql.Null[K]{V: id, Valid: true}, hidden: id}
	r.Inside.ID, r.buried.list = id, []K{id}
	return r
}

// Verbs that go vet would object to: it is for people who write what it does not see that ID is careful.
var wrapped, number = "%w", "%d"

// sinks are ways in which a value reaches the outside. Each is given an ID by itself and in a record,
// and writes them; errors are part of what can be seen.
func sinks[K comparable]() map[string]func(w io.Writer, id K, r record[K]) error {
	all := map[string]func(w io.Writer, id K, r record[K]) error{
		"Println": func(w io.Writer, id K, r record[K]) error {
			_, err := fmt.Fprintln(w, id, &id, r, &r, map[K]int{id: 1}, []any{id, &r})
			return err
		},
		"errors": func(w io.Writer, id K, r record[K]) error {
			err := fmt.Errorf("order %v: %w", id, sql.ErrNoRows)
			return errors.Join(fmt.Errorf("all of %v: %w", r, err), fmt.Errorf(wrapped, id))
		},
		"JSON":       func(w io.Writer, id K, r record[K]) error { return json.NewEncoder(w).Encode(r) },
		"JSON value": func(w io.Writer, id K, r record[K]) error { return json.NewEncoder(w).Encode(id) },
		"JSON key":   func(w io.Writer, id K, r record[K]) error { return json.NewEncoder(w).Encode(map[K]int{id: 1}) },
		"XML":        func(w io.Writer, id K, r record[K]) error { return xml.NewEncoder(w).Encode(r) },
		"gob": func(w io.Writer, id K, r record[K]) error {
			r.Any = nil // gob wants interfaces registered
			return gob.NewEncoder(w).Encode(r)
		},
		"encoding/binary": func(w io.Writer, id K, r record[K]) error { return binary.Write(w, binary.BigEndian, id) },
		"text/template": func(w io.Writer, id K, r record[K]) error {
			return template.Must(template.New("").Parse(`{{.ID}} {{printf "%d %x" .ID .Key}} {{.List}} {{.}} {{html .ID}} {{urlquery .ID}} {{js .ID}}`)).Execute(w, r)
		},
		"html/template": func(w io.Writer, id K, r record[K]) error {
			return htmltemplate.Must(htmltemplate.New("").Parse(`<a href="/orders/{{.ID}}?after={{.ID}}" title={{.ID}} style="width:{{.ID}}" onclick="open({{.ID}})">{{.ID}} {{.}}</a>
				<script>let order = {{.}}, id = {{.ID}}, text = "{{.ID}}"</script><style>p { width: {{.ID}} }</style>`)).Execute(w, r)
		},
		"slog text": func(w io.Writer, id K, r record[K]) error { return logged(slog.NewTextHandler(w, nil), id, r) },
		"slog JSON": func(w io.Writer, id K, r record[K]) error { return logged(slog.NewJSONHandler(w, nil), id, r) },
		"log": func(w io.Writer, id K, r record[K]) error {
			logger := log.New(w, "", 0)
			logger.Println(id, r)
			logger.Printf(number+" %+v", id, r)
			return nil
		},
		"url.Values": func(w io.Writer, id K, r record[K]) error {
			address := url.URL{Path: fmt.Sprint("/orders/", id), RawQuery: url.Values{"after": {fmt.Sprint(id)}}.Encode()}
			_, err := io.WriteString(w, address.String())
			return err
		},
		"header": func(w io.Writer, id K, r record[K]) error {
			return http.Header{"Location": {fmt.Sprintf("/orders/"+number, id)}}.Write(w)
		},
		"CSV": func(w io.Writer, id K, r record[K]) error {
			return csv.NewWriter(w).WriteAll([][]string{{fmt.Sprint(id), fmt.Sprint(r)}})
		},
		"expvar": func(w io.Writer, id K, r record[K]) error {
			_, err := io.WriteString(w, expvar.Func(func() any { return r }).String())
			return err
		},
	}
	for _, verb := range "vtbcdoOqxXUeEfFgGspwz" {
		for _, flags := range []string{"", "+", "#", "-30", "030", " "} {
			format := "%" + flags + string(verb)
			all[format] = func(w io.Writer, id K, r record[K]) error {
				for _, value := range []any{id, r, []K{id}, map[K]bool{id: true}, struct{ hidden K }{id}} {
					fmt.Fprintf(w, format+"\n", value)
				}
				return nil
			}
		}
	}
	return all
}

func logged[K comparable](handler slog.Handler, id K, r record[K]) error {
	logger := slog.New(handler).With("first", id)
	logger.Info("made", "id", id, "pointer", &id, "record", r, "ids", []K{id}, slog.Group("group", "id", id), "by", map[K]int{id: 1})
	logger.Error("failed", "error", fmt.Errorf("order %v", id))
	return nil
}

func output[K comparable](sink func(io.Writer, K, record[K]) error, id K) string {
	var b bytes.Buffer
	if err := sink(&b, id, newRecord(id)); err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

// No sink shows an inner value, and every one of them shows it when the ID is a plain integer.
func TestNothingLeaks(t *testing.T) {
	const inner = 0x1b69b4be052fab1c
	plain := sinks[sortable]()
	for name, sink := range sinks[orderID]() {
		if got := output(sink, Of[orders](sortable(inner))); leaks(got, inner) {
			t.Errorf("%s leaks the inner value: %s", name, got)
		}
		if name[0] == '%' && strings.ContainsAny(name, "cq") {
			continue // characters, of which none has such a number
		}
		if got := output(plain[name], inner); !leaks(got, inner) {
			t.Errorf("%s: the check does not find a plain integer in %q", name, got)
		}
	}
	for name, sink := range sinks[rawID]() {
		if got := output(sink, Of[orders](randflake.Raw(inner))); leaks(got, inner) {
			t.Errorf("%s leaks the inner raw value: %s", name, got)
		}
	}
	for name, sink := range sinks[ID[keyless, sortable]]() {
		if got := output(sink, Of[keyless](sortable(inner))); leaks(got, inner) {
			t.Errorf("%s leaks the inner value where the space has no cipher: %s", name, got)
		}
	}
}

// What is shown is the masked form.
func TestSinksShowTheMaskedForm(t *testing.T) {
	id := Of[orders](sortable(0x1b69b4be052fab1c))
	masked, _ := id.MarshalBinary()
	for name, sink := range sinks[orderID]() {
		if name == "encoding/binary" || name[0] == '%' && strings.ContainsAny(name, "pw") {
			continue // they don't ask the ID
		}
		if got := output(sink, id); !strings.Contains(got, id.String()) && !strings.Contains(got, string(masked)) {
			t.Errorf("%s does not show %v: %q", name, id, got)
		}
	}
}

// leaks reports whether output holds value in any of its forms, in letters of either case.
func leaks(output string, value uint64) bool {
	lower := strings.ToLower(output)
	return slices.ContainsFunc(forms(value), func(form string) bool {
		return strings.Contains(output, form) || strings.Contains(lower, strings.ToLower(form))
	})
}

// forms returns value as people and encoders write it: in digits of many bases, as its bytes, and as
// those in common codes.
func forms(value uint64) []string {
	all := []string{strconv.FormatUint(value, 2), digits(value, base58), digits(value, base62)}
	for base := 8; base <= 36; base++ {
		all = append(all, strconv.FormatUint(value, base))
	}
	for _, v := range []uint64{value, value << 1} { // gob doubles signed integers
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			b := order.AppendUint64(nil, v)
			all = append(all, string(b), base64.RawStdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
				base32.StdEncoding.EncodeToString(b)[:13], base32.HexEncoding.EncodeToString(b)[:13])
		}
	}
	return all
}

const (
	base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// digits returns value in the base whose digits are given.
func digits(value uint64, alphabet string) string {
	var text []byte
	for base := uint64(len(alphabet)); value > 0; value /= base {
		text = append(text, alphabet[value%base])
	}
	slices.Reverse(text)
	return string(text)
}
