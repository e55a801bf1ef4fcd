package lease

// known is what this handle is sure is durable in the space: what its latest swap showed. If a later
// answer shows something older, data was lost: see detect.go.
type known struct {
	meta     *meta             // of the newest term; before the first swap it may be from a read: see Open
	position uint64            // of the data
	loss     string            // the loss that this handle saw and nobody has noted yet, or ""
	values   map[string][]byte // by record: the leases and counters, mostKnown in all; only with Space.mu held
}

// mostKnown bounds known.values, as those who call a service may make up names of counters.
const mostKnown = 4096

// addKnown adds to a snapshot what the handle knows by now.
func (s *Space) addKnown(seen *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.known = s.known
	seen.known.values = nil // later calls change the map
	seen.knownValue = s.known.values[seen.record.name]
	seen.knownLeases = s.known.values[leasesRecord.name]
}

// knownMeta returns the newest meta that this handle knows.
func (s *Space) knownMeta() *meta {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known.meta
}

// startFrom gives a new handle the meta by which its first call goes.
func (s *Space) startFrom(m *meta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.meta = m
}

// rememberLoss remembers a loss, which seen has shown, until the floor is set. Later answers may not
// show it, as swaps raise the position.
func (s *Space) rememberLoss(seen *snapshot, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notedMeanwhile := s.known.meta.Term != seen.known.meta.Term
	if !notedMeanwhile {
		s.known.loss = why
	}
}

// rememberRetired remembers that the space is retired. If its data are lost later, this handle
// makes it anew as a retired one.
func (s *Space) rememberRetired(as retirement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := *s.known.meta
	m.retirement = as
	s.known.meta = &m
}

// learn remembers what a swap of this handle has made durable. Answers of two calls may come in any order:
// what is known of a later swap stays.
func (s *Space) learn(after *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known.enterTerm(after.meta) {
		return
	}
	s.known.position = max(s.known.position, after.Position)
	name := after.record.name
	if after.wentBackFrom(s.known.values[name], after.value) {
		return
	}
	s.known.values[name] = after.value
	if len(s.known.values) > mostKnown {
		s.forgetCounter(name)
	}
}

// enterTerm drops what is known of an earlier term than that of m. It returns false if m is of an earlier one
// itself: of a swap that was decided before a loss that this handle has noted since.
//
// Within a term the known meta stays. There it can only become retired, which rememberRetired is for, and m may
// be older than that.
func (k *known) enterTerm(m *meta) bool {
	switch {
	case k.meta != nil && k.meta.Term == m.Term:
		return true
	case k.meta != nil && k.meta.FloorsSet >= m.FloorsSet:
		return false
	}
	*k = known{meta: m, values: map[string][]byte{}}
	return true
}

// forgetCounter forgets the value of some counter other than keep. If that counter goes back, only
// lineage and position show it. It is called with mu held.
func (s *Space) forgetCounter(keep string) {
	for name := range s.known.values {
		if name != keep && name != leasesRecord.name {
			delete(s.known.values, name)
			return
		}
	}
}
