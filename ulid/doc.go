// Package ulid makes ULIDs: 128-bit IDs of a time in milliseconds (48 bits) and 80 random bits, whose 26 characters
// sort as they were made (https://github.com/ulid/spec). They need no lease and no node, and anyone can read their
// time.
//
//	generator, err := ulid.New()
//	id, err := generator.Generate()
//
// An [ID] converts to the type of github.com/oklog/ulid/v2 and back: ulid.ID(theirs). Here are
//
//   - a [Generator] with entropy from crypto/rand and a state for each processor, or with one order
//     for all goroutines ([Strict]);
//   - strict text, JSON and SQL forms, and [Inspect] and [Compose];
//   - the form of a UUID ([FormatUUID], [ParseUUID]).
//
// Package objectkey names objects in an object store by ULID, and finds those of an interval of time.
package ulid
