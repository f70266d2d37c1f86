package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Secret is a value that never prints: every form of printing shows only whether it is set. Reveal gives it out.
//
// The value sits behind a pointer, so that also reflection over an unexported field of this type, which cannot call our
// methods, prints an address at most.
type Secret struct{ value *string }

// NewSecret hides a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String shows whether the secret is set.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return "<redacted>"
}

// GoString is String, quoted.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format is String for every verb.
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') || verb == 'q' {
		_, _ = fmt.Fprint(f, s.GoString())
		return
	}
	_, _ = fmt.Fprint(f, s.String())
}

// MarshalText is String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON is String.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
