package redact

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"no URL: a@b:c":               "no URL: a@b:c",
		"redis://host:6379/0":         "redis://host:6379/0",
		"want https://HOST:PORT":      "want https://HOST:PORT",
		"redis://user@host":           "redis://user@host",
		"redis://user:hunter2@host/0": "redis://user:xxxxx@host/0",
		"redis://:hunter2@host":       "redis://:xxxxx@host",
		"postgres://u:hunter2@a,b/db?sslmode=disable":          "postgres://u:xxxxx@a,b/db?sslmode=disable",
		"postgres://u@h/db?password=hunter2&sslmode=disable":   "postgres://u@h/db?password=xxxxx&sslmode=disable",
		"postgres://u@h/db?a=b&sslpassword=hunter2":            "postgres://u@h/db?a=b&sslpassword=xxxxx",
		"postgres://u@h/db?PASSWORD=hunter2":                   "postgres://u@h/db?PASSWORD=xxxxx",
		"host=db user=shop password=hunter2":                   "host=db user=shop password=xxxxx",
		"host=db password = 'hunter 2' user=shop":              "host=db password = xxxxx user=shop",
		"Server=db;Uid=shop;Pwd=hunter2;":                      "Server=db;Uid=shop;Pwd=xxxxx;",
		"shop:hunter2@tcp(db:3306)/shop":                       "shop:xxxxx@tcp(db:3306)/shop",
		"postgres//shop:hunter2@db/shop":                       "postgres//shop:xxxxx@db/shop",
		"etcd://u:hun:ter2@h":                                  "etcd://u:xxxxx@h",
		"etcd://u:hun@ter2@h":                                  "etcd://u:xxxxx@h",
		"etcd://u:hun/ter2@h":                                  "etcd://u:xxxxx@h",
		"etcd://u:1/hunter2@h":                                 "etcd://u:xxxxx@h",
		"etcd://u:1?hunter2@h":                                 "etcd://u:xxxxx@h",
		"etcd://u:1#hunter2@h":                                 "etcd://u:xxxxx@h",
		"etcd://u:%zzhunter2@h":                                "etcd://u:xxxxx@h",
		`parse "redis://u:hunter2@h": invalid; see "etcd://h"`: `parse "redis://u:xxxxx@h": invalid; see "etcd://h"`,
		"redis://u:hunter2@h: and redis://v:hunter2@h: no":     "redis://u:xxxxx@h: and redis://v:xxxxx@h: no",
		"redis://:hunter2":                                     "redis://:xxxxx",
		"postgres://u:hunter2/shop?schema=ids":                 "postgres://u:xxxxx/shop?schema=ids",
		"postgres://h:5432/shop, etcd://a:2379,b:2379/":        "postgres://h:5432/shop, etcd://a:2379,b:2379/",
		"dial redis://h:6379: no (see etcd://h:2379).":         "dial redis://h:6379: no (see etcd://h:2379).",
		"redis://[::1]:6379/0":                                 "redis://[::1]:6379/0",
		"redis://h/0?passwrd=hunter2&db=1":                     "redis://h/0?passwrd=xxxxx&db=1",
		"postgres://h/db?pass=hunter2&token=hunter2":           "postgres://h/db?pass=xxxxx&token=xxxxx",
		"redis://u:hunter2@h\nredis://v:hunter2@h":             "redis://u:xxxxx@h\nredis://v:xxxxx@h",
	} {
		got := Passwords(text)
		if got != want || Passwords(got) != got {
			t.Errorf("%q: %q, and %q in the end, want %q", text, got, Passwords(got), want)
		}
	}
}

// TestRedactTyped: a word's password is found in what repeats a part of the word, whatever characters it has.
func TestRedactTyped(t *testing.T) {
	const (
		blank   = "-fpostgres://u:x hunter2@h/db"
		special = "postgres://u:x\"hunter2\né\\%20@hunter2@h/db"
	)
	for _, tt := range []struct{ word, text, want string }{
		{blank, `invalid argument "postgres://u:x hunter2@h/db" for "-f"`, `invalid argument "postgres://u:xxxxx@h/db" for "-f"`},
		{blank, `postgres://u:x hun`, `postgres://u:xxxxx`},
		{blank, `part "hunter2@h/db"`, `part "xxxxx@h/db"`},
		{blank, `make postgres:/u:x%20hunter2@h first`, `make postgres:/u:xxxxx@h first`},
		{blank, `x hunter2 and u:y@z`, `x hunter2 and u:xxxxx@z`},
		{"--to=redis://u:x u:hunter2@h", `at "redis://u:x u:hunter"`, `at "redis://u:xxxxx"`},
		{"redis://h/?password=x;hunter2", `at "x", redis://h/?password=x;hunt`, `at "x", redis://h/?password=xxxxx`},
		{special, special, "postgres://u:xxxxx@h/db"},
		{special, strconv.Quote(special), `"postgres://u:xxxxx@h/db"`},
		{special, strconv.QuoteToASCII(special), `"postgres://u:xxxxx@h/db"`},
		{"--to=redis://:x hunter2", "redis://:x hunter2, no", "redis://:xxxxx, no"},
		{"redis://h/?password=x hunter2&a=b", "--to redis://h/?password=x hunter2&a=b", "--to redis://h/?password=xxxxx&a=b"},
		{"u:x hunter2@tcp(h)/db", "u:x hunter2@tcp(h)/db", "u:xxxxx@tcp(h)/db"},
		{"host=h password='x hunter2'", "host=h password='x hunter2'", "host=h password=xxxxx"},
		{"postgres://postgres:postgres@h", "store postgres: see postgres://h", "store postgres: see postgres://h"},
		{"etcd://h1:2379,h2:2379", "dial etcd://h1:2379,h2:2379", "dial etcd://h1:2379,h2:2379"},
		{"", "a:b", "a:b"},
	} {
		got := Passwords(tt.text, "other", tt.word)
		if got != tt.want || Passwords(got, tt.word) != got {
			t.Errorf("%q of %q: %q, and %q in the end, want %q", tt.text, tt.word, got, Passwords(got, tt.word), tt.want)
		}
	}
	_, err := time.ParseDuration(special)
	if got := Passwords(err.Error(), special); strings.Contains(got, "hunter") {
		t.Errorf("%s", got)
	}
}
