package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes, written like "128MB" (powers of 1000) or "128MiB" (powers of 1024).
type Bytes int64

var byteUnits = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3},
	{"B", 1},
}

// ParseBytes reads a size such as "128MB", "1.5 GiB" or "4096". Units may be in any case.
func ParseBytes(text string) (Bytes, error) {
	number, size := strings.TrimSpace(text), int64(1)
	for _, u := range byteUnits {
		if len(number) >= len(u.name) && strings.EqualFold(number[len(number)-len(u.name):], u.name) {
			number, size = strings.TrimSpace(number[:len(number)-len(u.name)]), u.size
			break
		}
	}
	bad := fmt.Errorf("%q is not a size like \"128MB\" or \"4GiB\"", text)
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		if n < 0 || n > math.MaxInt64/size {
			return 0, bad
		}
		return Bytes(n * size), nil
	}
	for _, r := range number {
		if (r < '0' || r > '9') && r != '.' {
			return 0, bad
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f*float64(size) >= math.MaxInt64 {
		return 0, bad
	}
	return Bytes(math.Round(f * float64(size))), nil
}

// String is the shortest exact form, which ParseBytes reads back.
func (b Bytes) String() string {
	if b != 0 {
		for _, decimal := range []bool{true, false} {
			for _, u := range byteUnits[:8] {
				if strings.Contains(u.name, "i") != decimal && int64(b)%u.size == 0 {
					return strconv.FormatInt(int64(b)/u.size, 10) + u.name
				}
			}
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
