package cli

import (
	"os"
	"strings"
	"testing"
)

func TestCheckHandover(t *testing.T) {
	for _, c := range []struct {
		from, own string
		full      bool
		want      string
	}{
		{"v1.2.3", "v1.2.3", true, ""},
		{"(devel)", "v1.2.3", true, ""},
		{"v1.2.3", "(devel)", true, ""},
		{"v1.2.3", "v1.2.4", true, "version v1.2.4, but it was started by randflake version v1.2.3: want the same version: install both: go install"},
		{"v1.2.3", "v1.2.3", false, "install both: go install"},
	} {
		t.Setenv(handedOver, c.from)
		err := checkHandover(c.full, c.own)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if _, set := os.LookupEnv(handedOver); set {
			t.Error("it is left for other programs")
		}
		if err := checkHandover(c.full, c.own); err != nil {
			t.Errorf("not started by another program: %v", err)
		}
	}
}
