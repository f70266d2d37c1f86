// Package config is the configuration of every Serac process: one struct a section, filled from defaults, a TOML file,
// SERAC_<SECTION>__<FIELD> environment variables and flags, in rising priority.
//
// A key's name, default and documentation stand in one place, its field in sections.go: Keys reads them from there, and
// flags' help and docs/configuration.md are written from Keys.
//
// The package knows nothing of the rest of Serac and opens nothing but the file it is told to read. Start at Load.
package config
