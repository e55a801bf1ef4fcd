package decoders

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"dario.cat/mergo"
	"github.com/go-playground/validator/v10"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jinzhu/copier"
	"github.com/mitchellh/copystructure"
	"github.com/mitchellh/hashstructure/v2"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
)

// An action does something with two keys, which differ, by a library that goes by Go's kinds.
type action[T any] struct {
	name string
	do   func(a, b T) (any, error)
}

type keyed[T any] struct{ ID T }

// checked has a field for each check of keys.
type checked[T any] struct {
	Key    T   `validate:"required"`
	Same   T   `validate:"eqfield=Key"`
	Other  T   `validate:"nefield=Key"`
	Unique []T `validate:"unique"`
}

func actions[T comparable]() []action[T] {
	return []action[T]{
		{"mergo fills a zero key", func(a, _ T) (any, error) {
			var to keyed[T]
			err := mergo.Merge(&to, keyed[T]{a})
			return to.ID, err
		}},
		{"mergo keeps a key", func(a, b T) (any, error) {
			to := keyed[T]{b}
			err := mergo.Merge(&to, keyed[T]{a})
			return to.ID, err
		}},
		{"mergo replaces a key", func(a, b T) (any, error) {
			to := keyed[T]{b}
			err := mergo.Merge(&to, keyed[T]{a}, mergo.WithOverride)
			return to.ID, err
		}},
		{"copystructure", func(a, _ T) (any, error) {
			copied, err := copystructure.Copy(recordOf(a))
			return copied.(record[T]).is(a), err
		}},
		{"copier", func(a, _ T) (any, error) {
			var to record[T]
			err := copier.CopyWithOption(&to, recordOf(a), copier.Option{DeepCopy: true})
			return to.is(a), err
		}},
		{"copier, to a string", func(a, _ T) (any, error) {
			var to keyed[string]
			err := copier.Copy(&to, keyed[T]{a})
			return to.ID, err
		}},
		{"validator, all right", func(a, b T) (any, error) { return failed(checked[T]{a, a, b, []T{a, b}}) }},
		{"validator, all wrong", func(a, b T) (any, error) { return failed(checked[T]{a, b, a, []T{a, a}}) }},
		{"validator, zero", func(_, _ T) (any, error) { return failed(checked[T]{}) }},
		{"go-cmp", func(a, b T) (any, error) {
			return []bool{cmp.Equal(recordOf(a), recordOf(a)), cmp.Equal(recordOf(a), recordOf(b))}, nil
		}},
		{"hashstructure", func(a, b T) (any, error) {
			hash, err := hashstructure.Hash(keyed[T]{a}, hashstructure.FormatV2, nil)
			again, errAgain := hashstructure.Hash(keyed[T]{a}, hashstructure.FormatV2, nil)
			other, errOther := hashstructure.Hash(keyed[T]{b}, hashstructure.FormatV2, nil)
			return []bool{hash == again, hash == other}, errors.Join(err, errAgain, errOther)
		}},
		{"mapstructure, to a map", func(a, _ T) (any, error) {
			var to map[string]any
			err := decodeMap(keyed[T]{a}, &to, nil)
			return to["ID"], err
		}},
		{"mapstructure, to a struct", func(a, _ T) (any, error) {
			var to keyed[T]
			err := decodeMap(map[string]any{"ID": a}, &to, nil)
			return to.ID, err
		}},
	}
}

// failed returns the fields that fail a check.
func failed(checked any) (fields []string, err error) {
	var failures validator.ValidationErrors
	err = validator.New().Struct(checked)
	if err != nil && !errors.As(err, &failures) {
		return nil, err
	}
	for _, failure := range failures {
		fields = append(fields, failure.Field())
	}
	return fields, nil
}

// outcomes has a line for each action, in which the keys are a, b and zero.
func outcomes[T comparable](t *testing.T, a, b T) (lines []string) {
	names := map[any]string{a: "a", b: "b", *new(T): "zero"}
	for _, action := range actions[T]() {
		outcome, err := action.do(a, b)
		if err != nil {
			t.Errorf("%s of the %T %v: %v", action.name, a, a, err)
		}
		if key, ok := outcome.(T); ok {
			outcome = names[key]
		}
		lines = append(lines, fmt.Sprintf("%s: %v", action.name, outcome))
	}
	return lines
}

// TestAlike: these libraries do with keys as with integers and UUIDs.
func TestAlike(t *testing.T) {
	integers := outcomes[int64](t, 7, 9)
	for _, got := range [][]string{
		outcomes[randflake.ID](t, 7, 9),
		outcomes[randflake.Typed[order]](t, 7, 9),
		outcomes(t, mask.Of[order](snowflake.ID(7)), mask.Of[order](snowflake.ID(9))),
	} {
		if diff := cmp.Diff(integers, got); diff != "" {
			t.Error(diff)
		}
	}

	other := uuid.UUID{6: 0x70, 8: 0x80, 15: 9}
	uuids := outcomes(t, inner, other)
	got := outcomes(t, mask.OfUUID[document](inner), mask.OfUUID[document](other))
	if diff := cmp.Diff(uuids, got); diff != "" {
		t.Error(diff)
	}

	for _, line := range []string{
		"mergo fills a zero key: a",
		"copystructure: true",
		"copier: true",
		"validator, all right: []",
		"validator, all wrong: [Same Other Unique]",
		"go-cmp: [true false]",
		"hashstructure: [true false]",
	} {
		if !slices.Contains(integers, line) {
			t.Errorf("%s is not in %q", line, integers)
		}
	}
}
