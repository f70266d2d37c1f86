package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// FileIO is the configuration of a table's storage: iceberg-go's FileIO properties (s3.endpoint, s3.secret-access-key ...).
// It holds storage keys only, never a catalog's credential, and its values never print. The zero FileIO is empty, which is
// enough for local files. It is immutable.
//
// The values sit behind two pointers, so that also reflection over an unexported field of this type, which cannot call our
// methods, prints an address at most. (Behind one, fmt prints a map where the verb does not fit: %!s(*map=&map[...]).)
type FileIO struct{ properties **map[string]string }

// storagePrefixes and storageKeys are all that may cross a process boundary. A catalog's merged properties also hold its
// own token, credential, headers and DSN, whose names no list of forbidden keys could cover.
var (
	storagePrefixes = []string{"s3.", "gcs.", "adls."}
	storageKeys     = []string{"client.region"}
)

// NewFileIO keeps the storage keys of properties and drops all others.
func NewFileIO(properties map[string]string) FileIO {
	kept := make(map[string]string)
	for key, value := range properties {
		if isStorageKey(key) {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return FileIO{}
	}
	inner := &kept
	return FileIO{properties: &inner}
}

func isStorageKey(key string) bool {
	if !utf8.ValidString(key) {
		return false
	}
	for _, prefix := range storagePrefixes {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return slices.Contains(storageKeys, key)
}

// Reveal is a copy of the properties with their values, for the storage library.
func (f FileIO) Reveal() map[string]string {
	if f.properties == nil {
		return map[string]string{}
	}
	return maps.Clone(**f.properties)
}

// Names are the sorted keys.
func (f FileIO) Names() []string {
	if f.properties == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(**f.properties))
}

// Len is the number of properties.
func (f FileIO) Len() int {
	if f.properties == nil {
		return 0
	}
	return len(**f.properties)
}

// With is f with properties added or replaced; what is no storage key is dropped.
func (f FileIO) With(properties map[string]string) FileIO {
	merged := f.Reveal()
	maps.Copy(merged, properties)
	return NewFileIO(merged)
}

// Fingerprint tells configurations apart (equal fingerprints mean equal properties) without holding their values.
func (f FileIO) Fingerprint() [sha256.Size]byte {
	h := sha256.New()
	var length [8]byte
	write := func(s string) {
		binary.BigEndian.PutUint64(length[:], uint64(len(s)))
		h.Write(length[:])
		h.Write([]byte(s))
	}
	for _, name := range f.Names() {
		write(name)
		write((**f.properties)[name])
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}

// String is the names, each with <redacted>.
func (f FileIO) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range f.Names() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name + ":" + redacted)
	}
	b.WriteByte('}')
	return b.String()
}

// GoString is what %#v prints.
func (f FileIO) GoString() string { return "wire.FileIO" + f.String() }

// Format prints the same for every verb.
func (f FileIO) Format(s fmt.State, verb rune) {
	text := f.String()
	if verb == 'v' && s.Flag('#') {
		text = f.GoString()
	}
	_, _ = io.WriteString(s, text)
}

// MarshalJSON gives the redacted form.
func (f FileIO) MarshalJSON() ([]byte, error) {
	hidden := make(map[string]string, f.Len())
	for _, name := range f.Names() {
		hidden[name] = redacted
	}
	return json.Marshal(hidden)
}

// LogValue gives the redacted form.
func (f FileIO) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, f.Len())
	for _, name := range f.Names() {
		attrs = append(attrs, slog.String(name, redacted))
	}
	return slog.GroupValue(attrs...)
}

// Expires is when the first of the credentials in it expires, by what the catalog said that vended them; ok is false when they
// do not, or nobody said so.
func (f FileIO) Expires() (at time.Time, ok bool) {
	for key, value := range f.Reveal() {
		if key != "s3.session-token-expires-at-ms" && key != "gcs.oauth2.token-expires-at" && !strings.HasPrefix(key, "adls.sas-token-expires-at-ms") {
			continue
		}
		millis, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		if t := time.UnixMilli(millis); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// Covered is the configuration as bytes that print no secret; UncoverFileIO reads them.
func (f FileIO) Covered() []byte { return coverFileIO(f) }

// UncoverFileIO is what Covered gave.
func UncoverFileIO(b []byte) (FileIO, error) { return uncoverFileIO(b) }
