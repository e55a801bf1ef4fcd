package url

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"no URL: a@b:c":               "no URL: a@b:c",
		"redis://host:6379/0":         "redis://host:6379/0",
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
		got := Redact(text)
		if got != want || Redact(got) != got {
			t.Errorf("%q: %q, and %q in the end, want %q", text, got, Redact(got), want)
		}
	}
	// With white space it is the store's name, taken as a whole, that has no password.
	for _, text := range []string{"redis://u:hun ter2@h", `redis://u:hun"ter2@h`, "postgres://h/db?password=hun ter2&x=y"} {
		if got := redactURL(text); strings.Contains(got, "ter2") {
			t.Errorf("%q", got)
		}
	}
}
