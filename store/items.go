package store

import (
	"context"
	"iter"
)

// Items reads the items from name from on and before name to, or all where they are empty, in order, page by page.
// They need not be of one moment.
func (s *Space) Items(ctx context.Context, from, to string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for page := (Page{From: from, To: to, Limit: MaxPage}); ; {
			answer, err := s.engine.Read(ctx, nil, s.page(page))
			if err != nil {
				yield(Item{}, s.failed("read", err))
				return
			}
			for _, entry := range answer.Page {
				name := entry.Name[len(s.name("")):]
				page.From = name + "-" // the lowest of the names that come after
				if name == metaName {
					continue
				}
				item, err := decodeItem(name, entry.Value)
				if err != nil {
					err = s.corrupt(err)
				}
				s.noteItems([]Item{item})
				if !yield(item, err) || err != nil {
					return
				}
			}
			if len(answer.Page) < page.Limit {
				return
			}
		}
	}
}
