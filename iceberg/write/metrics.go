package write

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seracdb/serac/iceberg"
)

// metricsMode says which statistics of a column go into the manifests (table properties write.metadata.metrics.*).
type metricsMode struct {
	counts, bounds bool
	truncate       int // code points or bytes of a bound; 0: whole
}

const (
	metricsDefault   = "write.metadata.metrics.default"
	metricsColumn    = "write.metadata.metrics.column."
	defaultTruncates = 16
)

// metricsModes are the modes of all fields by id, nested ones too.
func metricsModes(fields []iceberg.Field, properties map[string]string) (map[int32]metricsMode, error) {
	fallback := metricsMode{counts: true, bounds: true, truncate: defaultTruncates}
	if v := properties[metricsDefault]; v != "" {
		var err error
		if fallback, err = parseMetricsMode(v); err != nil {
			return nil, fmt.Errorf("property %s: %w", metricsDefault, err)
		}
	}
	out := make(map[int32]metricsMode)
	var walk func(fields []iceberg.Field, prefix string) error
	walk = func(fields []iceberg.Field, prefix string) error {
		for i := range fields {
			name := prefix + fields[i].Name
			out[fields[i].ID] = fallback
			if v := properties[metricsColumn+name]; v != "" {
				mode, err := parseMetricsMode(v)
				if err != nil {
					return fmt.Errorf("property %s: %w", metricsColumn+name, err)
				}
				out[fields[i].ID] = mode
			}
			if err := walk(fields[i].Children, name+"."); err != nil {
				return err
			}
		}
		return nil
	}
	return out, walk(fields, "")
}

func parseMetricsMode(v string) (metricsMode, error) {
	switch lower := strings.ToLower(strings.TrimSpace(v)); {
	case lower == "none":
		return metricsMode{}, nil
	case lower == "counts":
		return metricsMode{counts: true}, nil
	case lower == "full":
		return metricsMode{counts: true, bounds: true}, nil
	case strings.HasPrefix(lower, "truncate(") && strings.HasSuffix(lower, ")"):
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(lower, "truncate("), ")"))
		if err == nil && n > 0 {
			return metricsMode{counts: true, bounds: true, truncate: n}, nil
		}
	}
	return metricsMode{}, fmt.Errorf("unknown metrics mode %q", v)
}

// lowerBytes cuts a lower bound: a prefix is never above the value.
func lowerBytes(b []byte, width int, text bool) []byte {
	if width == 0 {
		return b
	}
	return truncateBytes(b, width, text)
}

// upperBytes cuts an upper bound and raises what is left, so that it is above every value with that prefix. ok is false
// when nothing can be raised: there is no bound then.
func upperBytes(b []byte, width int, text bool) (bound []byte, ok bool) {
	cut := lowerBytes(b, width, text)
	if len(cut) == len(b) {
		return b, true
	}
	if !text {
		for i := len(cut) - 1; i >= 0; i-- {
			if cut[i] != 0xff {
				out := append([]byte(nil), cut[:i+1]...)
				out[i]++
				return out, true
			}
		}
		return nil, false
	}
	runes := []rune(string(cut))
	for i := len(runes) - 1; i >= 0; i-- {
		next := runes[i] + 1
		if next == 0xd800 {
			next = 0xe000 // past the surrogates, which UTF-8 has not
		}
		if next <= utf8.MaxRune {
			return []byte(string(append(runes[:i:i], next))), true
		}
	}
	return nil, false
}
