package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// redacted stands where a secret would print.
const redacted = "<redacted>"

// Secret is a text that never prints: every way to format, log or marshal it gives <redacted>. The zero Secret is empty.
//
// The text sits behind a pointer, so that also reflection over an unexported field of this type (which cannot call our
// methods) prints an address at most.
type Secret struct{ text *string }

// NewSecret keeps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal is the text itself, for the library that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty says whether there is nothing to hide.
func (s Secret) Empty() bool { return s.text == nil }

// String is <redacted>, or "" when empty.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return redacted
}

// GoString is what %#v prints.
func (s Secret) GoString() string { return "wire.Secret(" + s.String() + ")" }

// Format prints the same for every verb.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	_, _ = io.WriteString(f, text)
}

// MarshalJSON gives the redacted form.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText gives the redacted form.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue gives the redacted form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
