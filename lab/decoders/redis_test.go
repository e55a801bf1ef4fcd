package decoders

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// TestRedis: go-redis refuses IDs of 64 bits, and keeps their texts and int64s, as docs/databases.md says.
func TestRedis(t *testing.T) {
	server, err := servers.StartRedis(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	ctx := t.Context()

	// An order is as HSet and Scan take a struct.
	type record struct {
		ID   string `redis:"id"`
		Item string `redis:"item"`
	}
	for text, id := range known {
		for _, refused := range []any{id, randflake.TextID(id), randflake.Typed[order](id), snowflake.ID(id)} {
			if err := client.Set(ctx, "key", refused, 0).Err(); err == nil {
				t.Errorf("the %T %v is kept", refused, refused)
			}
		}
		var back record
		stored := []error{
			client.Set(ctx, "text", id.String(), 0).Err(),
			client.Set(ctx, "integer", int64(id), 0).Err(),
			client.SAdd(ctx, "set", id.String()).Err(),
			client.HSet(ctx, "hash", record{id.String(), "tea"}).Err(),
			client.HGetAll(ctx, "hash").Scan(&back),
		}
		for _, err := range stored {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		parsed, err := randflake.Parse(client.Get(ctx, "text").Val())
		integer, integerErr := client.Get(ctx, "integer").Int64()
		if parsed != id || err != nil || randflake.ID(integer) != id || integerErr != nil || back.ID != text {
			t.Errorf("%s came back as %v, %d and %s", text, parsed, integer, back.ID)
		}
		if !client.SIsMember(ctx, "set", text).Val() {
			t.Errorf("%s is not in the set", text)
		}
	}

	// A ULID is its 16 bytes, by MarshalBinary.
	want := ulid.MustParse("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	var got ulid.ID
	err = client.Set(ctx, "ulid", want, 0).Err()
	if scanErr := client.Get(ctx, "ulid").Scan(&got); err != nil || scanErr != nil || got != want {
		t.Errorf("%v came back as %v: %v, %v", want, got, err, scanErr)
	}
	if n := client.StrLen(ctx, "ulid").Val(); n != 16 {
		t.Errorf("a ULID has %s bytes, want 16", strconv.FormatInt(n, 10))
	}
}
