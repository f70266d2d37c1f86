package bind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/internal/fileaccess"
	"github.com/seracdb/serac/plan"
)

// disabledOptimizers are the late passes after which DuckDB's plan no longer says what type a column has, and the one
// that compares texts with BLOBs.
const disabledOptimizers = "column_lifetime,compressed_materialization,sum_rewriter,regex_range"

// plannerMemory bounds what DuckDB's own buffers take of the scheduler's memory while it plans one statement, in bytes.
// Values of constant expressions are not among them.
const plannerMemory = 1 << 30

// planner is one DuckDB that parses and binds. One statement uses it at a time.
type planner struct {
	db   *duckdb.DB
	conn *duckdb.Conn
	// side has the settings and names that conn has. A statement is described there while it is rewritten.
	side  *duckdb.Conn
	files fileaccess.Policy

	mu     sync.Mutex
	tables map[string]*Table // what stands behind the keys of the current statement; DuckDB asks from its own threads

	views    map[string]string // the key behind each view, by the view's quoted name in lower case
	schemas  map[string]bool   // by quoted name in lower case
	catalogs map[string]bool   // by lower-case name
	settings []string          // names set for the current statement

	namespace string // what USE has chosen
}

func newPlanner(ctx context.Context, files fileaccess.Policy) (*planner, error) {
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1, MemoryLimit: plannerMemory, Settings: map[string]string{"disabled_optimizers": disabledOptimizers}})
	if err != nil {
		return nil, err
	}
	p := &planner{db: db, files: files, views: map[string]string{}, schemas: map[string]bool{}, catalogs: map[string]bool{}}
	if err = db.RegisterStubScan(scanFunction, p.stub); err == nil {
		err = p.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *planner) connect(ctx context.Context) (err error) {
	for _, conn := range []**duckdb.Conn{&p.conn, &p.side} {
		if *conn, err = p.db.Conn(ctx); err != nil {
			return err
		}
	}
	// Plans are optimised where json_serialize_plan is told to. No other statement here is worth optimising, least of all
	// one that is only prepared to be described.
	if err := p.both(ctx, "PRAGMA disable_optimizer"); err != nil {
		return err
	}
	dirs := make([]string, 0, len(p.files.Dirs()))
	for _, dir := range p.files.Dirs() {
		dirs = append(dirs, plan.QuoteString(dir))
	}
	return p.conn.Exec(ctx, "SET allowed_directories = ["+strings.Join(dirs, ", ")+"]; SET enable_external_access = false")
}

// both runs a statement on both connections.
func (p *planner) both(ctx context.Context, sql string) error {
	if err := p.conn.Exec(ctx, sql); err != nil {
		return err
	}
	return p.side.Exec(ctx, sql)
}

func (p *planner) close() error {
	var err error
	for _, conn := range []*duckdb.Conn{p.conn, p.side} {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	return errors.Join(err, p.db.Close())
}

// stub answers DuckDB's question what a table looks like.
func (p *planner) stub(key string) ([]duckdb.StubColumn, uint64, error) {
	p.mu.Lock()
	t := p.tables[key]
	p.mu.Unlock()
	if t == nil {
		return nil, 0, fmt.Errorf("table %s is not part of this statement", key)
	}
	columns := make([]duckdb.StubColumn, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = duckdb.StubColumn{Name: c.Name, Type: c.Type.SQL()}
	}
	return columns, uint64(max(t.Rows, 1)), nil
}

// serve makes a statement's tables known, by the names of their stubs.
func (p *planner) serve(tables map[string]*Table) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tables = tables
}

// begin makes a statement's settings and names known.
func (p *planner) begin(ctx context.Context, req Request) error {
	for name, value := range req.Settings {
		if !isName(name) {
			return &Error{Message: fmt.Sprintf("%q is not the name of a setting", name)}
		}
		p.settings = append(p.settings, name)
		if err := p.both(ctx, "SET "+name+" = "+plan.QuoteString(value)); err != nil {
			if isStatementFault(err) {
				return &Error{Message: fmt.Sprintf("setting %s: %v", name, err)}
			}
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	if err := p.schema(ctx, req.Catalog, req.Schema); err != nil {
		return err
	}
	namespace := plan.QuoteIdent(req.Catalog) + "." + plan.QuoteIdent(req.Schema)
	if p.namespace == namespace {
		return nil
	}
	if err := p.both(ctx, "USE "+namespace); err != nil {
		return err
	}
	p.namespace = namespace
	return nil
}

// end takes back what begin set. Its failure makes the planner unusable.
func (p *planner) end(ctx context.Context) error {
	for _, name := range p.settings {
		if err := p.both(ctx, "RESET "+name); err != nil {
			return err
		}
	}
	p.settings = nil
	p.serve(nil)
	return nil
}

func isName(s string) bool {
	for _, r := range s {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}

func (p *planner) schema(ctx context.Context, catalog, schema string) error {
	if c := strings.ToLower(catalog); !p.catalogs[c] {
		if err := p.conn.Exec(ctx, "ATTACH IF NOT EXISTS ':memory:' AS "+plan.QuoteIdent(catalog)); err != nil {
			return fmt.Errorf("catalog %s: %w", catalog, err)
		}
		p.catalogs[c] = true
	}
	name := plan.QuoteIdent(catalog) + "." + plan.QuoteIdent(schema)
	if key := strings.ToLower(name); !p.schemas[key] {
		if err := p.conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+name); err != nil {
			return fmt.Errorf("schema %s.%s: %w", catalog, schema, err)
		}
		p.schemas[key] = true
	}
	return nil
}

// view puts a view of a table at a name, unless it is there already.
func (p *planner) view(ctx context.Context, catalog, schema, name, key string) error {
	full := plan.QuoteIdent(catalog) + "." + plan.QuoteIdent(schema) + "." + plan.QuoteIdent(name)
	same := strings.ToLower(full) // to DuckDB, which compares names without case
	if p.views[same] == key {
		return nil
	}
	if err := p.schema(ctx, catalog, schema); err != nil {
		return err
	}
	err := p.conn.Exec(ctx, "CREATE OR REPLACE VIEW "+full+" AS SELECT * FROM "+scanFunction+"("+plan.QuoteString(key)+")")
	if err != nil {
		return fmt.Errorf("table %s.%s.%s: %w", catalog, schema, name, err)
	}
	p.views[same] = key
	return nil
}

// syntaxTree parses a SELECT.
func (p *planner) syntaxTree(ctx context.Context, sql string) (*statement, error) {
	text, err := p.conn.Text(ctx, "SELECT json_serialize_sql("+plan.QuoteString(sql)+"::VARCHAR)::VARCHAR")
	if err != nil {
		return nil, err
	}
	return parseStatement(text)
}

// text writes a syntax tree back as SQL.
func (p *planner) text(ctx context.Context, s *statement) (string, error) {
	doc, err := s.json()
	if err != nil {
		return "", err
	}
	return p.conn.Text(ctx, "SELECT json_deserialize_sql("+plan.QuoteString(doc)+"::JSON)::VARCHAR")
}

// plan binds a SELECT and returns its plan as JSON.
func (p *planner) plan(ctx context.Context, sql string, optimise bool) (string, error) {
	return p.conn.Text(ctx, fmt.Sprintf("SELECT json_serialize_plan(%s::VARCHAR, optimize := %t, skip_null := true)::VARCHAR",
		plan.QuoteString(sql), optimise))
}
