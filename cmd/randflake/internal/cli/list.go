package cli

import "sort"

// A list is a slice in parts of equal length, so that it grows without a copy, which would need
// more memory than the list.
type list[E any] struct {
	parts [][]E
	n     int
}

const partLength = 1 << 14

func (l *list[E]) at(i int) *E { return &l.parts[i/partLength][i%partLength] }

func (l *list[E]) add(e E) {
	if l.n == len(l.parts)*partLength {
		l.parts = append(l.parts, make([]E, partLength))
	}
	*l.at(l.n) = e
	l.n++
}

func (l *list[E]) sort(less func(x, y *E) bool) { sort.Sort(&sorter[E]{l, less}) }

// A sorter is a list for package sort.
type sorter[E any] struct {
	*list[E]
	less func(x, y *E) bool
}

func (s *sorter[E]) Len() int           { return s.n }
func (s *sorter[E]) Less(i, j int) bool { return s.less(s.at(i), s.at(j)) }
func (s *sorter[E]) Swap(i, j int)      { x, y := s.at(i), s.at(j); *x, *y = *y, *x }
