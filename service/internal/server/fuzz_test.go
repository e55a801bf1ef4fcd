package server

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// forms are the ways in which a message is sent, by their types.
var forms = []string{"application/json", "application/proto", "application/grpc+proto",
	"application/grpc-web+proto", "application/grpc-web+json"}

// inner is what no answer may have: where data is, and how the program is made. The spaces of
// testbeds are in "memory".
var inner = []string{"in memory", "db-7", "goroutine", "panic", "runtime error", ".go:", "nil pointer", "nobody asked", "reflect"}

// FuzzBytes: whatever bytes a procedure gets, in whichever form, it answers with a success or with
// an error of clients, and shows nothing of what is inside.
func FuzzBytes(f *testing.F) {
	all := procedures()
	for i := range all {
		for k := range forms {
			f.Add(uint8(i), uint8(k), []byte([]string{`{"space":"none"}`, "\n\x04none", "\x0a\xff\xff\xff\xff\xff",
				`{"space":"none","counter":"orders","count":-1}`}[(i+k)%4]))
		}
		for _, body := range []string{`{"space":"ulid","number":"-1"}`,
			`{"space":"sorted","number":"9223372036854775807"}`,
			`{"space":"mint","text":"g000000000000","count":4294967295,"format":7}`,
			`{"space":"none","window":"-9223372036854775808","nodeCount":4294967295,"label":"\u0000"}`,
			`{"space":"none","counter":"*","next":"9223372036854775807","limit":4294967295,"after":"../meta"}`,
			`{"space":"none","counter":"few","count":"9223372036854775807","period":"1","periodBegin":"-9223372036854775808"}`, `{"space":"given","counter":"others","next":"-1"}`} {
			f.Add(uint8(i), uint8(0), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, i, k uint8, body []byte) {
		w, procedure, form := newTestbed(t, spaces), all[int(i)%len(all)], forms[int(k)%len(forms)]
		if strings.HasPrefix(form, "application/grpc") {
			body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
		}
		a := w.call(procedure, string(body), func(r *http.Request) {
			r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
			r.Header.Set("Content-Type", form)
			r.Header.Set("Te", "trailers")
		})
		what, all := fmt.Sprintf("%s as %s: %d", procedure, form, a.status), fmt.Sprint(a.text, a.header)
		for _, hidden := range append(inner, w.secret.Hex()) {
			require.Omits(t, all, hidden, "%s %.300s", what, all)
		}
		var failed struct{ Code string }
		json.Unmarshal([]byte(a.text), &failed)
		grpc := append(append(a.header["Trailer:Grpc-Status"], a.header["Grpc-Status"]...), failed.Code)
		if slices.ContainsFunc(grpc, func(code string) bool {
			return slices.Contains([]string{"internal", "unknown", "unimplemented", "data_loss", "2", "12", "13", "15"}, code)
		}) {
			t.Errorf("%s %.300s: no error of clients", what, all)
		}
		if a.status >= 500 && failed.Code != "unavailable" && failed.Code != "deadline_exceeded" {
			t.Errorf("%s %.300s: without a code", what, all)
		}
	})
}
