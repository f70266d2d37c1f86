package client

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Format is how results are printed.
type Format string

// The formats.
const (
	Table Format = "table" // aligned columns, for people
	CSV   Format = "csv"   // RFC 4180 with a header; NULL is empty, the empty text ""
	TSV   Format = "tsv"   // a header; NULL is \N; tab, newline, return and backslash are escaped by backslashes
	JSON  Format = "json"  // one object a line
)

// Formats are all formats.
var Formats = []Format{Table, CSV, TSV, JSON}

// ParseFormat finds a format by its name.
func ParseFormat(name string) (Format, error) {
	for _, f := range Formats {
		if strings.EqualFold(name, string(f)) {
			return f, nil
		}
	}
	return "", fmt.Errorf("%q is no format: table, csv, tsv and json are", name)
}

// printer prints one result, batch by batch, in bounded memory.
type printer interface {
	batch(arrow.RecordBatch) error
	// end prints what is left.
	end() error
}

func newPrinter(f Format, w io.Writer, schema *arrow.Schema, style tableStyle) printer {
	out := bufio.NewWriterSize(w, 64<<10)
	switch f {
	case CSV:
		return newSeparated(out, schema, ",", csvField, "")
	case TSV:
		return newSeparated(out, schema, "\t", tsvField, `\N`)
	case JSON:
		return newJSONLines(out, schema)
	}
	return newTable(out, schema, style)
}

// separated prints CSV and TSV.
type separated struct {
	out       *bufio.Writer
	separator string
	field     func(string) string
	null      string
	err       error
}

func newSeparated(out *bufio.Writer, schema *arrow.Schema, separator string, field func(string) string, null string) *separated {
	p := &separated{out: out, separator: separator, field: field, null: null}
	for i, f := range schema.Fields() {
		if i > 0 {
			p.write(separator)
		}
		p.write(field(f.Name))
	}
	p.write("\n")
	return p
}

func (p *separated) write(text string) {
	if p.err == nil {
		_, p.err = p.out.WriteString(text)
	}
}

func (p *separated) batch(batch arrow.RecordBatch) error {
	for row := range int(batch.NumRows()) {
		for i, column := range batch.Columns() {
			if i > 0 {
				p.write(p.separator)
			}
			if isNull(column, row) {
				p.write(p.null)
			} else {
				p.write(p.field(ValueText(column, row)))
			}
		}
		p.write("\n")
	}
	return p.err
}

func (p *separated) end() error {
	if p.err != nil {
		return p.err
	}
	return p.out.Flush()
}

func csvField(text string) string {
	if text == "" || strings.ContainsAny(text, ",\"\r\n") || text[0] == ' ' || text[len(text)-1] == ' ' {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}

var tsvEscape = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

func tsvField(text string) string { return tsvEscape.Replace(text) }

// jsonLines prints one JSON object a row.
type jsonLines struct {
	out   *bufio.Writer
	names []string // encoded, with the colon
	line  []byte
}

func newJSONLines(out *bufio.Writer, schema *arrow.Schema) *jsonLines {
	p := &jsonLines{out: out}
	taken := map[string]bool{}
	for _, f := range schema.Fields() {
		// An object cannot have a name twice; a result can.
		name := f.Name
		for n := 2; taken[name]; n++ {
			name = f.Name + "_" + strconv.Itoa(n)
		}
		taken[name] = true
		p.names = append(p.names, string(appendJSONText(nil, name))+":")
	}
	return p
}

func (p *jsonLines) batch(batch arrow.RecordBatch) error {
	for row := range int(batch.NumRows()) {
		line := append(p.line[:0], '{')
		for i, column := range batch.Columns() {
			if i > 0 {
				line = append(line, ',')
			}
			line = appendJSON(append(line, p.names[i]...), column, row)
		}
		p.line = append(line, '}', '\n')
		if _, err := p.out.Write(p.line); err != nil {
			return err
		}
	}
	return nil
}

func (p *jsonLines) end() error { return p.out.Flush() }
