// Package upstream tests packages compat and compat/sparx64 against what they stand in for: gosuda.org/randflake v1.8.0
// makes IDs beside them, and its own tests run on them. Those tests stay in the module cache: they are copied from
// there, with other imports. There is no such test of compat/v2, since v2.1.0 is not on the public module proxy.
package upstream
