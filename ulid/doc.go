// Package ulid makes ULIDs: 128-bit IDs with a time in milliseconds (48 bits) and 80 random bits
// (https://github.com/ulid/spec). Their text has 26 characters and sorts by time. They need no lease and no node, and
// anyone can read their time.
//
//	generator, err := ulid.New()
//	id, err := generator.Generate()
//
// An [ID] can be converted to the type of github.com/oklog/ulid/v2 and back: ulid.ID(theirs). The package has
//
//   - a [Generator] with entropy from crypto/rand and a state for each processor, or with one order
//     for all goroutines ([Strict]);
//   - strict text, JSON and SQL forms, and [Inspect] and [Compose];
//   - the form of a UUID ([FormatUUID], [ParseUUID]).
//
// Package objectkey names objects in an object store by ULID, and finds the objects of a time interval.
package ulid
