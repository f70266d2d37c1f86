package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/seracdb/serac/plan"
)

// DuckDB's infinite dates and timestamps.
const (
	infiniteDate      = math.MaxInt32
	infiniteTimestamp = math.MaxInt64
)

// temporalText is a date or time as DuckDB parses it.
func temporalText(n int64, kind plan.Kind) string {
	switch kind {
	case plan.Date:
		switch n {
		case infiniteDate:
			return "infinity"
		case -infiniteDate:
			return "-infinity"
		}
		date, era := dateText(n)
		return date + era
	case plan.Time:
		return clockText(n, 1_000_000, 6)
	case plan.TimeNS:
		return clockText(n, 1_000_000_000, 9)
	case plan.TimeTZ:
		return timeTZText(n)
	}
	switch n {
	case infiniteTimestamp:
		return "infinity"
	case -infiniteTimestamp:
		return "-infinity"
	}
	perSecond, digits := int64(1_000_000), 6
	switch kind {
	case plan.TimestampS:
		perSecond, digits = 1, 0
	case plan.TimestampMS:
		perSecond, digits = 1_000, 3
	case plan.TimestampNS:
		perSecond, digits = 1_000_000_000, 9
	}
	day, inDay := floorDiv(n, 86_400*perSecond)
	date, era := dateText(day)
	text := date + era + " " + clockText(inDay, perSecond, digits)
	if kind == plan.TimestampTZ {
		text += "+00"
	}
	return text
}

func floorDiv(n, by int64) (quotient, rest int64) {
	quotient, rest = n/by, n%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}

// dateText is a day since 1970-01-01 in the proleptic Gregorian calendar, and " (BC)" for the years before 1.
func dateText(days int64) (date, era string) {
	// Howard Hinnant's civil_from_days: eras of 400 years that begin in March.
	z := days + 719468
	e, doe := floorDiv(z, 146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day := doy - (153*mp+2)/5 + 1
	month := mp + 3
	year := yoe + e*400
	if month > 12 {
		month, year = month-12, year+1
	}
	if year <= 0 {
		year, era = 1-year, " (BC)"
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day), era
}

func clockText(n, perSecond int64, digits int) string {
	seconds, fraction := n/perSecond, n%perSecond
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if fraction > 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, fraction), "0")
	}
	return text
}

// timeTZText reads DuckDB's 64 bits: microseconds of the day above 24 bits of (16:00:00 - 1 s - offset) in seconds.
func timeTZText(bits int64) string {
	const maxOffset = 16*60*60 - 1
	micros := int64(uint64(bits) >> 24)
	offset := maxOffset - bits&(1<<24-1)
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	text := clockText(micros, 1_000_000, 6) + sign + fmt.Sprintf("%02d:%02d", offset/3600, offset/60%60)
	if offset%60 > 0 {
		text += fmt.Sprintf(":%02d", offset%60)
	}
	return text
}
