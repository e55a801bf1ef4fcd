package cli

import "github.com/spf13/cobra"

// topics explain what applies to several commands.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "stores", Short: "what --store and --secret-file mean", Long: storesHelp},
		{Use: "kinds", Short: "kinds, layouts and formats of IDs", Long: kindsHelp},
	}
}

const storesHelp = `All programs that make IDs with one secret must share one store. A store refuses
other secrets. Without --store both are in your state directory, made by the
first "randflake new": randflake/default in $XDG_STATE_HOME or ~/.local/state,
on macOS in ~/Library/Application Support, on Windows in %LocalAppData%. It
serves this machine; a copy on another machine repeats IDs.

Make other stores with "randflake store init". STORE is DIR or (with @ = : in
it) file:DIR on a local disk, or a URL; ?space=NAME names one of several spaces:

  postgres://USER@HOST/DATABASE              etcd://HOST:2379, etcds://...
  mysql:// or mariadb://USER@HOST/DATABASE   redis://HOST:6379, rediss://...
  s3://BUCKET/PREFIX?region=REGION           kubernetes:NAMESPACE/NAME
  sqlite:FILE, shared on this machine

RANDFLAKE_STORE, or the file that RANDFLAKE_STORE_FILE names, replaces --store,
to keep passwords off the command line. The secret is the first that exists of:

  --secret-file FILE       32 hexadecimal digits, or base64 of 16 bytes
  RANDFLAKE_SECRET         the secret itself; not together with the next one
  RANDFLAKE_SECRET_FILE    the name of such a file
  "secret"                 a file in the store's directory

With --store DIR the variables are ignored: DIR has its own secret. A file must
not be readable by others, unless it is in memory and mounted read-only.`

const kindsHelp = `  randflake   64 bits that look random: up to 13 digits of base32hex
  snowflake   up to 64 bits that sort by time and show it: decimal
  ulid        128 bits that sort by time and show it: 26 digits; no lease

Layouts of Snowflake IDs are twitter, worker10, discord, instagram, sonyflake,
sonyflake2, mastodon, tsid, yitter, unix, baidu, node8, javascript53, or a
definition: "NAME: time 41, worker 10, sequence 12; 1ms since
2025-01-01T00:00:00Z".

Their worker numbers come from a store, and there is no secret. All programs
that make IDs in one ID space must share one store. Without --store, each layout
has its own directory, randflake/snowflake-LAYOUT, which knows no other
programs: to make IDs beside those of a service, name the service's store.

Formats, one ID a line except binary:

  text     as above; json is the same as a JSON string
  int      decimal, signed for randflake; not for ulid
  hex      0x and 16 digits; not for ulid
  binary   8 bytes, little-endian, for snowflake big-endian; 16 bytes for ulid
  base32, base58, base62   for snowflake: digits that sort as the IDs do
  uuid     for ulid: as a UUID`
