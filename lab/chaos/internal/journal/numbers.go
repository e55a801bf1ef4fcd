package journal

// Took notes numbers that a handle on a counter gave to a call, or to calls one after the other, that began at a time.
func (w *Writer) Took(counter string, handle int, began int64, numbers []int64, stride int64) error {
	if len(numbers) == 0 {
		return nil
	}
	e := Event{At: Now(), Kind: Took, Counter: counter, Handle: handle, Began: began}
	for _, n := range numbers {
		if last := len(e.Runs) - 1; last >= 0 && e.Runs[last][1]+stride == n {
			e.Runs[last][1] = n
		} else {
			e.Runs = append(e.Runs, [2]int64{n, n})
		}
	}
	return w.note(e)
}

// Closed notes that a handle on a counter was closed, and its books.
func (w *Writer) Closed(counter string, handle int, books Books) error {
	return w.note(Event{At: Now(), Kind: Closed, Counter: counter, Handle: handle, Books: &books})
}
