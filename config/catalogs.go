package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// FormatCatalog is a [catalogs.NAME]: a catalog of a table format other than Iceberg, which the process must have built in.
type FormatCatalog struct {
	// Type is the format's name.
	Type string
	// Properties are the other keys. What they mean is the format's affair, so none of them is printed.
	Properties map[string]Secret
}

// readCatalogs reads the tables below [catalogs].
func (c *Config) readCatalogs(path string, catalogs map[string]any) (faults []error) {
	c.Catalogs = map[string]FormatCatalog{}
	for _, name := range slices.Sorted(maps.Keys(catalogs)) {
		section := "catalogs." + name
		keys, ok := catalogs[name].(map[string]any)
		if !ok {
			faults = append(faults, fmt.Errorf("%s: %s: a catalog is a section, [catalogs.NAME]", path, section))
			continue
		}
		catalog := FormatCatalog{Properties: map[string]Secret{}}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			text, ok := keys[key].(string)
			switch {
			case !ok:
				faults = append(faults, fmt.Errorf("%s: %s.%s: expected a string", path, section, key))
			case key == "type":
				catalog.Type = text
			default:
				catalog.Properties[key] = NewSecret(text)
			}
		}
		c.Catalogs[name] = catalog
	}
	return faults
}

var catalogName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validateCatalogs reports what is wrong with the catalogs of other formats.
func (c *Config) validateCatalogs(fault func(path, format string, args ...any)) {
	names := []string{c.Catalog.Name}
	for _, name := range slices.Sorted(maps.Keys(c.Catalogs)) {
		path := "catalogs." + name
		if !catalogName.MatchString(name) {
			fault(path, "the name of a catalog has letters, digits and underscores only")
		}
		if slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) }) {
			fault(path, "another catalog has that name")
		}
		names = append(names, name)
		if c.Catalogs[name].Type == "" {
			fault(path+".type", "must be set")
		}
	}
}
