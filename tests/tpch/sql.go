package tpch

import (
	"fmt"
	"strings"
)

// seed numbers a column's draws: no two columns of all tables may share one. A draw is a hash of key*seeds + seed, so the
// draws of a row are as independent as those of different rows. (hash(key, seed) would not do: DuckDB combines hashes
// by exclusive or, and all columns would differ by constants.)
type seed int

const (
	seedSupplierAddress seed = iota
	seedSupplierNation
	seedSupplierPhone
	seedSupplierBalance
	seedSupplierComment
	seedSupplierComment2
	seedSupplierPress
	seedPartColour
	seedPartColours
	seedPartMaker
	seedPartType
	seedPartSize
	seedPartContainer
	seedPartComment
	seedAvailable
	seedSupplyCost
	seedPartSuppComment
	seedPartSuppComment2
	seedPartSuppComment3
	seedCustomerAddress
	seedCustomerNation
	seedCustomerPhone
	seedCustomerBalance
	seedCustomerSegment
	seedCustomerComment
	seedCustomerComment2
	seedOrderCustomer
	seedOrderDate
	seedOrderPriority
	seedOrderClerk
	seedOrderLines
	seedOrderComment
	seedOrderComment2
	seedLinePart
	seedLineSupplier
	seedLineQuantity
	seedLineDiscount
	seedLineTax
	seedLineShip
	seedLineCommit
	seedLineReceipt
	seedLineReturn
	seedLineInstruction
	seedLineMode
	seedLineComment
	seedNationComment
	seedNationComment2
	seedRegionComment
	seedRegionComment2

	seeds = 64
	// variant shifts all draws. This one was picked so that all 22 queries have rows at scale factor 0.01.
	variant = 12
)

// bits is 64 random bits for a key.
func bits(key string, s seed) string {
	return fmt.Sprintf("hash(%s * %d + %d)", key, seeds, int(s)+variant*seeds*1_000_000_007)
}

// draw is a BIGINT from 0 to n-1.
func draw(key string, s seed, n int64) string {
	return fmt.Sprintf("CAST(%s %% CAST(%d AS UBIGINT) AS BIGINT)", bits(key, s), n)
}

// between is a BIGINT from low to high.
func between(key string, s seed, low, high int64) string {
	return fmt.Sprintf("(%d + %s)", low, draw(key, s, high-low+1))
}

// field is n bits of an expression of random bits, as a BIGINT.
func field(random string, shift, n int) string {
	return fmt.Sprintf("CAST((%s >> %d) & CAST(%d AS UBIGINT) AS BIGINT)", random, shift, 1<<n-1)
}

// pick is the element of a list of constants at an index from 0.
func pick(list []string, index string) string { return fmt.Sprintf("%s[1 + %s]", array(list), index) }

// array is a list of constants.
func array(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// money is a DECIMAL(15,2) of a BIGINT number of cents.
func money(cents string) string {
	return fmt.Sprintf("CAST(CAST(%s AS DECIMAL(15,0)) * 0.01 AS DECIMAL(15,2))", cents)
}

// padded is a number with leading zeros.
func padded(number string, digits int) string {
	return fmt.Sprintf("lpad(CAST(%s AS VARCHAR), %d, '0')", number, digits)
}

// spaced is texts with a space between them.
func spaced(texts []string) string { return "concat(" + strings.Join(texts, ", ' ', ") + ")" }

// day is a DATE that many days after the first order date.
func day(offset string) string {
	return fmt.Sprintf("(DATE '1992-01-01' + CAST(%s AS INTEGER))", offset)
}

// address is 10 to 40 characters, without any meaning.
func address(key string, s seed) string {
	return fmt.Sprintf("substring(translate(to_base64(unhex(sha256(CAST(%s AS VARCHAR)))), '+/=', ' ,x'), 1, CAST(%s AS INTEGER))",
		bits(key, s), between(key, s, 10, 40))
}

// phone is CC-NNN-NNN-NNNN, its country code 10 more than the nation's key.
func phone(nation, key string, s seed) string {
	random := bits(key, s)
	group := func(shift int, low, n int64) string {
		return fmt.Sprintf("%d + %s %% %d", low, field(random, shift, 20), n)
	}
	return fmt.Sprintf("concat(10 + %s, '-', %s, '-', %s, '-', %s)",
		nation, group(0, 100, 900), group(20, 100, 900), group(40, 1000, 9000))
}

// sentence is words by the grammar of the specification's comments (adverb adjective noun verb preposition the
// adjective noun), about 50 characters, from 64 random bits.
func sentence(random string) string {
	words := []string{
		pick(adverbs, field(random, 0, 6)), "' '", pick(adjectives, field(random, 6, 6)), "' '", pick(nouns, field(random, 12, 6)),
		"' '", pick(verbs, field(random, 18, 6)), "' '", pick(prepositions, field(random, 24, 6)), "' the '",
		pick(adjectives, field(random, 30, 6)), "' '", pick(nouns, field(random, 36, 6)),
	}
	return "concat(" + strings.Join(words, ", ") + ")"
}

// comment is low to high characters (at most 44 more than sentences make up) of one sentence per seed.
func comment(key string, low, high int64, sentences ...seed) string {
	parts := make([]string, len(sentences))
	for i, s := range sentences {
		parts[i] = sentence(bits(key, s))
	}
	text := parts[0]
	if len(parts) > 1 {
		text = "concat(" + strings.Join(parts, ", '. ', ") + ")"
	}
	// The length takes bits that the words leave.
	length := fmt.Sprintf("CAST(%d + %s %% %d AS INTEGER)", low, field(bits(key, sentences[0]), 44, 20), high-low+1)
	return fmt.Sprintf("substring(%s, 1, %s)", text, length)
}
