package engine

import (
	"maps"
	"sync"
)

type sessionState struct {
	mu              sync.Mutex
	catalog, schema string
	settings        map[string]string
}

// OpenSession makes a session with the catalog and schema that unqualified names resolve in.
func OpenSession(id, user, catalog, schema string) *Session {
	return &Session{ID: id, User: user, state: sessionState{catalog: catalog, schema: schema, settings: map[string]string{}}}
}

// Namespace is the catalog and schema that unqualified names resolve in.
func (s *Session) Namespace() (catalog, schema string) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return s.state.catalog, s.state.schema
}

// Use changes the catalog and schema that unqualified names resolve in.
func (s *Session) Use(catalog, schema string) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.catalog, s.state.schema = catalog, schema
}

// Set changes one setting; an empty value resets it.
func (s *Session) Set(name, value string) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if value == "" {
		delete(s.state.settings, name)
		return
	}
	s.state.settings[name] = value
}

// Settings is a copy of the settings that differ from the configuration.
func (s *Session) Settings() map[string]string {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return maps.Clone(s.state.settings)
}
