package store

// A Sighting is the newest state of a space that a handle has seen.
type Sighting struct {
	Meta          *Meta
	Lineage       string
	Position      uint64
	Newest, Known int64 // seconds of items
}

func (s *Space) Sighting() Sighting {
	seen := s.sighting()
	return Sighting{seen.meta, seen.lineage, seen.position, seen.newest, seen.known}
}

func DecodeMeta(value []byte) (*Meta, error) { return decodeMeta(value) }

func (m *Meta) Encode() []byte { return m.encode() }

func (i Item) Encode() []byte { return i.encode(Format) }

func DecodeItem(name string, value []byte) (Item, error) {
	item, err := decodeItem(name, value)
	item.value = nil
	return item, err
}

func (s *Space) Claims(keys Keys) []Entry { return s.claims(keys) }
