package read

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// DefaultSQL is a single value (specification, Appendix D) as an SQL literal that casts to the column's type.
func DefaultSQL(t ice.Type, value []byte) (string, error) { return defaultValue(t, value) }

// defaultValue is a single value (specification, Appendix D) as the default_value of read_parquet's schema: a string that
// DuckDB casts to the column's type. nil is NULL.
func defaultValue(t ice.Type, value []byte) (string, error) {
	if value == nil {
		return "NULL", nil
	}
	v, err := iceberg.DecodeValue(t, value)
	if err != nil {
		return "", err
	}
	text, err := valueText(t, v)
	if err != nil {
		return "", err
	}
	return plan.QuoteString(text), nil
}

func valueText(t ice.Type, v any) (string, error) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), nil
	case int32:
		return strconv.FormatInt(int64(v), 10), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case string:
		return v, nil
	case []byte:
		return blobText(v), nil
	case uuid.UUID:
		return v.String(), nil
	case ice.Decimal:
		return v.String(), nil
	case ice.Date:
		return dateText(time.Unix(int64(v)*86400, 0).UTC(), "2006-01-02", ""), nil
	case ice.Time:
		return time.UnixMicro(int64(v)).UTC().Format("15:04:05.000000"), nil
	case ice.Timestamp:
		zone := ""
		if _, ok := t.(ice.TimestampTzType); ok {
			zone = "+00"
		}
		return dateText(time.UnixMicro(int64(v)).UTC(), "2006-01-02 15:04:05.000000", zone), nil
	case ice.TimestampNano:
		return dateText(time.Unix(0, int64(v)).UTC(), "2006-01-02 15:04:05.000000000", ""), nil
	default:
		return "", fmt.Errorf("a default value of type %s", t)
	}
}

// dateText formats a time as DuckDB reads it, with years before 1 as "(BC)".
func dateText(t time.Time, layout, zone string) string {
	if year := t.Year(); year <= 0 {
		// Year 0 is 1 BC; years repeat every 400, leap days included, so the rest of the date stays.
		text := t.AddDate(400*(1-year/400), 0, 0).Format(layout)
		const monthDay = len("-01-02")
		return fmt.Sprintf("%04d%s (BC)%s%s", 1-year, text[4:4+monthDay], text[4+monthDay:], zone)
	} else if year > 9999 {
		text := t.AddDate(-400*((year-9999+399)/400), 0, 0).Format(layout)
		return strconv.Itoa(year) + text[4:] + zone
	}
	return t.Format(layout) + zone
}

// blobText is bytes as DuckDB casts a string to BLOB.
func blobText(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		out.WriteString(`\x`)
		out.WriteString(hex.EncodeToString([]byte{c}))
	}
	return out.String()
}
