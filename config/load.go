package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Source is where a configuration comes from. Each part overrides the ones before it.
type Source struct {
	// File is the path of a TOML file; empty: none.
	File string
	// Environ is the environment as os.Environ gives it. Variables that do not start with SERAC_, or have no double
	// underscore after it, are not Serac's configuration.
	Environ []string
	// Set has values by key path (section.name), as flags give them.
	Set map[string]string
}

// Default is the configuration without any source.
func Default() *Config {
	c := &Config{}
	for _, s := range sections() {
		for _, k := range s.Keys {
			var value any = k.Default
			if err := k.set(c, value); err != nil {
				panic(fmt.Sprintf("config: default of %s: %v", k.Path(), err))
			}
		}
	}
	return c
}

// Load reads a configuration and validates it. The error joins every fault there is: unknown keys, values of the wrong
// form, and what Validate finds.
func Load(src Source) (*Config, error) {
	c := Default()
	var faults []error
	if src.File != "" {
		faults = append(faults, c.readFile(src.File)...)
	}
	faults = append(faults, c.readEnviron(src.Environ)...)
	for _, path := range slices.Sorted(maps.Keys(src.Set)) {
		if k, ok := findKey(path); !ok {
			faults = append(faults, fmt.Errorf("flag --%s: unknown key", path))
		} else if err := k.set(c, src.Set[path]); err != nil {
			faults = append(faults, fmt.Errorf("flag --%s: %w", path, k.hide(err)))
		}
	}
	if err := c.Validate(); err != nil {
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return c, nil
}

// hide keeps a secret's text out of the error about it.
func (k Key) hide(err error) error {
	if k.Type == "secret" {
		return errors.New("invalid value")
	}
	return err
}

func (c *Config) readFile(path string) (faults []error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return []error{fmt.Errorf("read configuration: %w", err)}
	}
	var file map[string]any
	if _, err := toml.Decode(string(text), &file); err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			// The message quotes what stands after the key.
			if k, ok := findKey(syntax.LastKey); ok && k.Type == "secret" {
				syntax.Message = "the value of " + k.Path()
			}
			return []error{fmt.Errorf("%s: line %d: not valid TOML: %s", path, syntax.Position.Line, syntax.Message)}
		}
		return []error{fmt.Errorf("%s: not valid TOML", path)}
	}
	for _, section := range slices.Sorted(maps.Keys(file)) {
		values, ok := file[section].(map[string]any)
		if !ok {
			faults = append(faults, fmt.Errorf("%s: %s: keys stand in sections, and this one is in none", path, section))
			continue
		}
		if section == "catalogs" {
			faults = append(faults, c.readCatalogs(path, values)...)
			continue
		}
		if !slices.ContainsFunc(sections(), func(s Section) bool { return s.Name == section }) {
			faults = append(faults, fmt.Errorf("%s: [%s]: unknown section", path, section))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			k, ok := findKey(section + "." + name)
			if !ok {
				faults = append(faults, fmt.Errorf("%s: %s.%s: unknown key", path, section, name))
			} else if err := k.set(c, values[name]); err != nil {
				faults = append(faults, fmt.Errorf("%s: %s: %w", path, k.Path(), k.hide(err)))
			}
		}
	}
	return faults
}

func (c *Config) readEnviron(environ []string) (faults []error) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		rest, ok := strings.CutPrefix(name, envPrefix)
		if !ok || !strings.Contains(rest, "__") {
			continue
		}
		section, key, _ := strings.Cut(rest, "__")
		if section == catalogsEnv {
			if err := c.setCatalog(key, value); err != nil {
				faults = append(faults, fmt.Errorf("environment: %s: %w", name, err))
			}
			continue
		}
		k, ok := findKey(strings.ToLower(section + "." + key))
		if !ok || k.Env() != name {
			faults = append(faults, fmt.Errorf("environment: %s: unknown key", name))
		} else if err := k.set(c, value); err != nil {
			faults = append(faults, fmt.Errorf("environment: %s: %w", name, k.hide(err)))
		}
	}
	return faults
}
