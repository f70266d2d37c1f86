// Package house holds the repository to its own rules: imports follow the rooms of docs/architecture.md, every package says
// what it is for, documents name commands and dependencies that exist. Each test says why its rule is there.
package house
