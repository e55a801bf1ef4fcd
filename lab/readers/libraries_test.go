package readers

import (
	"errors"
	"iter"
	"strconv"
	"testing"
)

// each is a reader of one text after the other. reads reports whether it takes one for something else.
func each(reads func(text string) bool) reader {
	return func(_ *testing.T, texts iter.Seq[string]) (misread []string) {
		for text := range texts {
			if reads(text) {
				misread = append(misread, text)
			}
		}
		return misread
	}
}

func strconvReads(text string) bool {
	var errs [6]error
	_, errs[0] = strconv.ParseInt(text, 0, 64)
	_, errs[1] = strconv.ParseInt(text, 10, 64)
	_, errs[2] = strconv.ParseUint(text, 0, 64)
	_, errs[3] = strconv.ParseUint(text, 10, 64)
	_, errs[4] = strconv.ParseFloat(text, 64)
	_, errs[5] = strconv.ParseBool(text)
	for _, err := range errs {
		if !errors.Is(err, strconv.ErrSyntax) {
			return true
		}
	}
	return false
}

func yamlReads(unmarshal func([]byte, any) error) func(text string) bool {
	return func(text string) bool {
		var got map[string]any
		err := unmarshal([]byte("id: "+text), &got)
		return err != nil || got["id"] != text
	}
}

// tomlReads reads a value that should have been in quotes, and is an error then.
func tomlReads(unmarshal func([]byte, any) error) func(text string) bool {
	return func(text string) bool {
		var got map[string]any
		return unmarshal([]byte("id = "+text), &got) == nil
	}
}
