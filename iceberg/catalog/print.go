package catalog

import (
	"fmt"
	"io"
	"log/slog"
)

// iceberg-go's catalogs and tables hold their properties in the clear, credentials among them. So what holds one prints its
// name alone.

// Format prints the catalog's name and type, for every verb.
func (c *Catalog) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "catalog "+c.name+" ("+c.kind+")")
}

// LogValue is the catalog's name.
func (c *Catalog) LogValue() slog.Value { return slog.StringValue(c.name) }

// Format prints the table's full name, for every verb.
func (t *Table) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "table "+t.Key()) }

// LogValue is the table's full name.
func (t *Table) LogValue() slog.Value { return slog.StringValue(t.Key()) }
