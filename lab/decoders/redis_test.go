package decoders

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// TestRedis: go-redis refuses IDs of 64 bits, and keeps their texts and int64s, as docs/databases.md says.
func TestRedis(t *testing.T) {
	server, err := servers.StartRedis(t.TempDir())
	require.NoError(t, err)
	defer server.Kill()
	options, err := redis.ParseURL(server.URL())
	require.NoError(t, err)
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
			err := client.Set(ctx, "key", refused, 0).Err()
			require.That(t, err != nil, "the %T %v is kept", refused, refused)
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
			require.That(t, err == nil, "%s: %v", text, err)
		}
		parsed, err := randflake.Parse(client.Get(ctx, "text").Val())
		integer, integerErr := client.Get(ctx, "integer").Int64()
		require.That(t, parsed == id && err == nil && randflake.ID(integer) == id && integerErr == nil && back.ID == text,
			"%s came back as %v, %d and %s", text, parsed, integer, back.ID)
		require.That(t, client.SIsMember(ctx, "set", text).Val(), "%s is not in the set", text)
	}

	testBinary(t, client, ulid.MustParse("01ARZ3NDEKTSV4RRFFQ69G5FAV"), 16, false)
	testBinary(t, client, mask.Of[order](snowflake.ID(5)), 8, false)
	testBinary(t, client, mask.OfUUID[session]([16]byte{6: 0x70, 8: 0x80}), 36, true)
}

// A session has a masked UUID.
type session struct{}

var sessionMasker = mask.NewUUIDMasker[[16]byte](randflake.NewSecret(), "session", nil)

func (session) Masker() *mask.UUIDMasker[[16]byte] { return sessionMasker }

// testBinary keeps what has a MarshalBinary. It comes back as that, but into the struct of an HGetAll
// only if it is the text.
func testBinary[T comparable](t *testing.T, client *redis.Client, id T, length int64, text bool) {
	type record struct {
		ID T `redis:"id"`
	}
	ctx := t.Context()
	var got T
	err := client.Set(ctx, "binary", id, 0).Err()
	scanErr := client.Get(ctx, "binary").Scan(&got)
	require.That(t, err == nil && scanErr == nil && got == id, "%v came back as %v: %v, %v", id, got, err, scanErr)
	require.Equal(t, client.StrLen(ctx, "binary").Val(), length, "bytes of a %T", id)

	var back record
	err = client.HSet(ctx, "binaries", record{id}).Err()
	scanErr = client.HGetAll(ctx, "binaries").Scan(&back)
	read := scanErr == nil && back.ID == id
	require.That(t, err == nil && read == text, "a struct with %v came back as %v: %v, %v", id, back, err, scanErr)
}
