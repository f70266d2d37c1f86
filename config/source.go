package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// String names what a source sets, with no value: some are secrets, and the environment holds others' too.
func (s Source) String() string {
	var names []string
	for _, variable := range s.Environ {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "SERAC_") {
			names = append(names, name)
		}
	}
	names = append(names, slices.Sorted(maps.Keys(s.Set))...)
	return fmt.Sprintf("{%s %s <redacted>}", s.File, strings.Join(names, " "))
}

// Format prints the same for every verb.
func (s Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalJSON gives the same as String.
func (s Source) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue gives the same as String.
func (s Source) LogValue() slog.Value { return slog.StringValue(s.String()) }
