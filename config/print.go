package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Write prints the configuration as TOML, secrets as <redacted>.
func (c *Config) Write(w io.Writer) error {
	var b strings.Builder
	for i, s := range sections() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%s]\n", s.Name)
		for _, k := range s.Keys {
			fmt.Fprintf(&b, "%s = %s\n", k.Name, k.value(c))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Catalogs)) {
		catalog := c.Catalogs[name]
		fmt.Fprintf(&b, "\n[catalogs.%s]\ntype = %q\n", name, catalog.Type)
		for _, key := range slices.Sorted(maps.Keys(catalog.Properties)) {
			fmt.Fprintf(&b, "%s = %q\n", key, catalog.Properties[key].String())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// value is what a configuration has for the key, as TOML has it.
func (k Key) value(c *Config) string {
	list, ok := k.field(c).Interface().([]string)
	if !ok {
		return k.literal(fmt.Sprint(k.field(c).Interface()))
	}
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = strconv.Quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// literal is a value as TOML has it. Of a list it is the empty one, which is every list's default.
func (k Key) literal(text string) string {
	switch k.Type {
	case "list":
		return "[]"
	case "number", "true or false":
		return text
	}
	return strconv.Quote(text)
}

// Markdown is docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(markdownHead)
	for _, s := range sections() {
		fmt.Fprintf(&b, "\n## [%s]\n\n%s\n\n| key | type | default | |\n|---|---|---|---|\n", s.Name, s.Doc)
		for _, k := range s.Keys {
			fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", k.Name, k.Type, k.literal(k.Default), strings.ReplaceAll(k.Doc, "|", "\\|"))
		}
	}
	b.WriteString(markdownCatalogs)
	return b.String()
}

const markdownCatalogs = `
## [catalogs.NAME]

Catalogs of table formats other than Iceberg, as many as there are; the name is the catalog's in SQL. Their keys can be given
in the file, and in the environment as ` + "`SERAC_CATALOGS__<NAME>__<KEY>`" + `. ` + "`type`" + ` is the name of a format that the binary has built in
([examples/customformat](../examples/customformat/README.md) shows how), and which other keys there are is the format's
affair: all are strings, and none is printed. Their tables can be read, not written.
`

const markdownHead = `# Configuration

Written from the doc comments of config/sections.go by ` + "`go test ./config -rewrite`" + `; a test compares the two.

Every key can be given in three places; a later one wins:

1. a TOML file, named by ` + "`--config FILE`" + `:

   ` + "```toml" + `
   [query]
   timeout_secs = 60
   distribution_threshold = "64MB"
   ` + "```" + `

2. the environment, as ` + "`SERAC_<SECTION>__<KEY>`" + `, in capitals: ` + "`SERAC_QUERY__TIMEOUT_SECS=60`" + `;
3. a flag, as ` + "`--<section>.<key>`" + `: ` + "`--query.timeout_secs 60`" + ` (true or false after an equals sign: ` + "`--query.key_ranges=false`" + `). A command has the flags of the sections that it uses.

An unknown key, in the file or in the environment, is an error, and so is a value that does not fit; all faults are
reported at once. A size is a number with B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024).
A list is one of strings in the file (` + "`[\"/a\", \"/b\"]`" + `), and separated by commas elsewhere (` + "`/a,/b`" + `).
Secrets are never printed. ` + "`serac config`" + ` prints what is in force.
`
