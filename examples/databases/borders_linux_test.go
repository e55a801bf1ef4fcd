package databases

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/link"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/numbers"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// borderSecret is a known one, so that the page can show what it makes.
var borderSecret, _ = randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5")

var orderMasker = &mask.Masker[snowflake.ID]{Cipher: randflake.NewCipher(borderSecret)}

func (Order) Masker() *mask.Masker[snowflake.ID] { return orderMasker }

// A linked ID is one that a program shows as a link.
type linked randflake.ID

var receipts = link.New(borderSecret, "receipt")

func (id linked) MarshalText() ([]byte, error) { return []byte(receipts.Text(randflake.ID(id))), nil }
func (id *linked) UnmarshalText(text []byte) error {
	verified, err := receipts.Verify(string(text))
	*id = linked(verified)
	return err
}
func (id linked) Value() (driver.Value, error) { return randflake.ID(id).Value() }
func (id *linked) Scan(src any) error          { return (*randflake.ID)(id).Scan(src) }

// A numbered row has the number without its pattern in a column.
type numbered struct{ numbers.Number }

var orderNumbers, _ = numbers.NewFormat("orders", "ORD-{n:6}{check:luhn}")

func (n *numbered) UnmarshalText(text []byte) (err error) {
	n.Number, err = orderNumbers.Parse(string(text))
	return err
}
func (n numbered) Value() (driver.Value, error) { return n.N, nil }
func (n *numbered) Scan(src any) (err error) {
	n.Number, err = orderNumbers.Number(time.Now(), src.(int64))
	return err
}

// A value is what a program has of an ID of some kind.
type value interface {
	driver.Valuer
	MarshalText() ([]byte, error)
}

// A kind reads and keeps values of one type.
type kind struct {
	is    reflect.Type
	last  string // the text of the highest value: its 64 bits are -1 in many
	read  func(read func(into any) error) (value, error)
	parse func(text string) (value, error)
}

func kindOf[T value, P interface {
	*T
	UnmarshalText([]byte) error
	sql.Scanner
}](last string) kind {
	read := func(read func(any) error) (value, error) {
		var v T
		err := read(P(&v))
		return v, err
	}
	return kind{reflect.TypeFor[T](), last, read, func(text string) (value, error) {
		var v T
		err := P(&v).UnmarshalText([]byte(text))
		return v, err
	}}
}

// kindsInGo are the rows of the table, by their cells of Go.
var kindsInGo = map[string]kind{
	"randflake.ID":                 kindOf[randflake.ID]("fvvvvvvvvvvvv"),
	"randflake.TextID":             kindOf[randflake.TextID]("fvvvvvvvvvvvv"),
	"randflake.Typed[Order]":       kindOf[randflake.Typed[Order]]("ord_fvvvvvvvvvvvv"),
	"mask.ID[Order, snowflake.ID]": kindOf[mask.ID[Order, snowflake.ID]](mask.Of[Order](snowflake.ID(math.MaxInt64)).String()),
	"link.Signer":                  kindOf[linked](receipts.Text(-1)),
	"snowflake.ID":                 kindOf[snowflake.ID]("9223372036854775807"),
	"ulid.ID":                      kindOf[ulid.ID]("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
	"numbers.Number":               kindOf[numbered]("ORD-9999996"),
}

var code = regexp.MustCompile("`([^`]*)`")

// TestBorders runs each cell of the table in docs/ids.md.
func TestBorders(t *testing.T) {
	page, err := os.ReadFile("../../docs/ids.md")
	must(t, err)
	postgres, err := sql.Open("pgx", postgresServer(t).URL())
	must(t, err)
	defer postgres.Close()
	mariadb := openMariaDB(t, false)
	var columns []string
	rows, tables := 0, 0
	node, python := &interpreter{}, &interpreter{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch {
		case strings.HasPrefix(line, "| |"):
			columns = append([]string{""}, strings.Split(strings.Trim(line[3:], " |\n"), " | ")...)
			continue
		case columns == nil || !strings.HasPrefix(line, "| "):
			continue
		case len(cells) != len(columns):
			t.Fatalf("%d cells in %s", len(cells), line)
		}
		cell := map[string][]string{}
		for i, column := range columns {
			for _, match := range code.FindAllStringSubmatch(cells[i], -1) {
				cell[column] = append(cell[column], match[1])
			}
		}
		k, ok := kindsInGo[cell["Go"][0]]
		if !ok {
			t.Fatalf("no test has %s", line)
		}
		rows++
		shown := strings.Trim(cell["JSON"][0], `"`)
		if cell["URL"][0] != "/"+shown {
			t.Errorf("%s in JSON is %s in URLs", shown, cell["URL"][0])
		}
		for _, text := range []string{shown, k.last} {
			v, err := k.parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			tables++
			run := func(column string, test func(t *testing.T)) { t.Run(cells[0]+"/"+column+"/"+text, test) }
			run("Go", func(t *testing.T) { testGo(t, k, cell["Go"][0], text) })
			run("SQL", func(t *testing.T) {
				types := cell["SQL"]
				testColumn(t, postgres, k, v, fmt.Sprintf("CREATE TABLE border_%d (id %s)", tables, types[0]), fmt.Sprintf("INSERT INTO border_%d VALUES ($1)", tables), fmt.Sprintf("SELECT id FROM border_%d WHERE id = $1", tables))
				testColumn(t, mariadb, k, v, fmt.Sprintf("CREATE TABLE border_%d (id %s)", tables, types[len(types)-1]), fmt.Sprintf("INSERT INTO border_%d VALUES (?)", tables), fmt.Sprintf("SELECT id FROM border_%d WHERE id = ?", tables))
			})
			run("JSON", func(t *testing.T) {
				data, err := json.Marshal(v)
				must(t, err)
				back, err := k.read(func(into any) error { return json.Unmarshal(data, into) })
				if string(data) != `"`+text+`"` || err != nil || back != v {
					t.Errorf("%s came back as %v: %v", data, back, err)
				}
			})
			run("URL", func(t *testing.T) { testURL(t, k, v, "/"+text, text) })
			run("protobuf", func(t *testing.T) { testField(t, k, v, cell["protobuf"][0], text) })
			number, err := v.Value()
			must(t, err)
			node.cases = append(node.cases, languageCase{text, cell["TypeScript"], cells[0], number})
			python.cases = append(python.cases, languageCase{text, cell["Python"], cells[0], number})
		}
	}
	if rows != len(kindsInGo) {
		t.Errorf("%d rows, want %d", rows, len(kindsInGo))
	}
	t.Run("TypeScript", func(t *testing.T) {
		node.run(t, "make typescript", "node", "--input-type=module", "-e", `import { parse, format, typed } from "../../clients/typescript/dist/id.js";
			const orders = typed("ord"), input = await new Response(process.stdin).json();
			const run = (expression, text, id) => new Function("parse", "format", "orders", "text", "id", "return " + expression)(parse, format, orders, text, id);
			console.log(JSON.stringify(input.map(({ Text, Code: [read, write] }) => {
				const id = run(read, Text);
				return { ID: String(id), Text: write ? run(write, Text, id) : id };
			})))`)
	})
	t.Run("Python", func(t *testing.T) {
		python.run(t, "make languages", "python3", "-c", `if True:
			import json, sys
			sys.path.insert(0, "../../clients/python")
			from randflaked import parse, to_text
			output = []
			for case in json.load(sys.stdin):
				text = case["Text"]
				id = eval(case["Code"][0])
				output.append({"ID": str(id), "Text": eval(case["Code"][1]) if len(case["Code"]) > 1 else id})
			print(json.dumps(output))`)
	})
}

// testGo: the type is that of the page, and reads its text and those of no other kinds with another prefix.
func testGo(t *testing.T, k kind, name, text string) {
	is := strings.ReplaceAll(strings.ReplaceAll(k.is.String(), "github.com/randflake/randflake/examples/databases.", ""), "github.com/randflake/randflake/", "")
	if !strings.HasPrefix(is, "databases.") && is != strings.ReplaceAll(name, " ", "") {
		t.Errorf("tested is %s, not %s", is, name)
	}
	v, err := k.parse(text)
	must(t, err)
	if back, err := v.MarshalText(); string(back) != text || err != nil {
		t.Errorf("%s came back as %s: %v", text, back, err)
	}
	for _, other := range []string{"cus_3vgoe12ccb8gh", "3vgoe12ccb8gh6ir7vlf49ddmo", "ord_" + text, text + "_", ""} {
		if v, err := k.parse(other); err == nil {
			t.Errorf("%s reads %q as %v", name, other, v)
		}
	}
}

func testColumn(t *testing.T, db *sql.DB, k kind, v value, create, insert, query string) {
	_, err := db.Exec(create)
	must(t, err)
	_, err = db.Exec(insert, v)
	must(t, err)
	back, err := k.read(func(into any) error { return db.QueryRow(query, v).Scan(into) })
	if err != nil || back != v {
		t.Errorf("%s: %v came back as %v: %v", create, v, back, err)
	}
}

func testURL(t *testing.T, k kind, v value, path, text string) {
	var got value
	err := fmt.Errorf("not called")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{id}", func(_ http.ResponseWriter, r *http.Request) { got, err = k.parse(r.PathValue("id")) })
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	if err != nil || got != v || url.PathEscape(text) != path[1:] || url.QueryEscape(text) != text {
		t.Errorf("%s came back as %v: %v", path, got, err)
	}
}

// testField sends a value in a field of a type, in both forms of protobuf.
func testField(t *testing.T, k kind, v value, fieldType, text string) {
	source := fmt.Sprintf(`syntax = "proto3"; message M { %s id = 1; }`, fieldType)
	files, err := (&protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"m.proto": source})}}).Compile(t.Context(), "m.proto")
	must(t, err)
	message := files[0].Messages().Get(0)
	field, msg := message.Fields().Get(0), dynamicpb.NewMessage(message)
	column, err := v.Value()
	must(t, err)
	switch field.Kind() {
	case protoreflect.StringKind:
		msg.Set(field, protoreflect.ValueOfString(text))
	case protoreflect.Sfixed64Kind:
		msg.Set(field, protoreflect.ValueOfInt64(column.(int64)))
	case protoreflect.Fixed64Kind:
		msg.Set(field, protoreflect.ValueOfUint64(uint64(column.(int64))))
	case protoreflect.BytesKind:
		msg.Set(field, protoreflect.ValueOfBytes(column.([]byte)))
	}
	for name, trip := range map[string]func(to proto.Message) error{
		"wire": func(to proto.Message) error {
			b, err := proto.Marshal(msg)
			must(t, err)
			return proto.Unmarshal(b, to)
		},
		"JSON": func(to proto.Message) error {
			b, err := protojson.Marshal(msg)
			must(t, err)
			return protojson.Unmarshal(b, to)
		},
	} {
		to := dynamicpb.NewMessage(message)
		must(t, trip(to))
		back, err := k.read(func(into any) error {
			if field.Kind() == protoreflect.StringKind {
				return into.(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte(to.Get(field).String()))
			}
			return into.(sql.Scanner).Scan(to.Get(field).Interface())
		})
		if err != nil || back != v {
			t.Errorf("%s, by %s: %v came back as %v: %v", source, name, v, back, err)
		}
	}
}

// An interpreter runs the code of cells in another language: what reads a text, and what writes it, if anything.
type interpreter struct{ cases []languageCase }

type languageCase struct {
	Text   string
	Code   []string
	kind   string
	number any
}

func (p *interpreter) run(t *testing.T, install string, words ...string) {
	input, err := json.Marshal(p.cases)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), new(bytes.Buffer)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s; %s installs what this takes", err, cmd.Stderr, install)
	}
	var results []struct{ ID, Text string }
	must(t, json.Unmarshal(output, &results))
	for i, c := range p.cases {
		want := c.Text // a string, whatever it is of
		if len(c.Code) > 1 || strings.Contains(c.Code[0], "toBigInt") {
			want = fmt.Sprint(c.number)
		}
		t.Run(c.kind+"/"+c.Text, func(t *testing.T) {
			if results[i].ID != want || results[i].Text != c.Text {
				t.Errorf("%q of %s is %s, and again %s; want %s", c.Code, c.Text, results[i].ID, results[i].Text, want)
			}
		})
	}
}

// TestPatterns: of texts that are nearly those of IDs, the patterns for OpenAPI match what parses.
func TestPatterns(t *testing.T) {
	schemas, err := os.ReadFile("openapi.yaml")
	must(t, err)
	found := regexp.MustCompile(`(?m)^    (\w+): .*format: ([a-z-]+), pattern: '(.*)'}$`).FindAllStringSubmatch(string(schemas), -1)
	parse := map[string]func(text string) error{
		"ID":       func(text string) error { _, err := randflake.Parse(text); return err },
		"TicketID": func(text string) error { _, err := randflake.ParseTyped[Ticket](text); return err },
		"Link": func(text string) error { // but for the MAC
			_, err := receipts.Verify(text)
			if err == link.ErrForged {
				err = nil
			}
			return err
		},
	}
	if len(found) != len(parse) {
		t.Fatalf("patterns: %q", found)
	}
	texts := []string{receipts.Text(0), receipts.Text(-1), "tkt_", "tkt_0", "tkt_00", "tkt_10\n", "g" + receipts.Text(1)[1:]}
	for _, text := range append(badTexts(2000), texts...) {
		texts = append(texts, text, "tkt_"+text, "ord_"+text, text+receipts.Text(1)[len(text)%26:])
	}
	for _, schema := range found {
		pattern, valid := regexp.MustCompile(schema[3]), 0
		for _, text := range texts {
			err := parse[schema[1]](text)
			if matches := pattern.MatchString(text); matches != (err == nil) {
				t.Errorf("%s: %q matches %t: %v", schema[1], text, matches, err)
			}
			if err == nil {
				valid++
			}
		}
		if valid < 10 || valid > len(texts)/2 {
			t.Errorf("%s: %d of %d texts are valid", schema[1], valid, len(texts))
		}
	}
}
