package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/admission"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/cluster"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/journal"
	"github.com/seracdb/serac/scheduler/sql"
	"github.com/seracdb/serac/scheduler/substrait"
	"github.com/seracdb/serac/wire"
)

// DefaultSchema is the schema that a new session's unqualified names resolve in.
const DefaultSchema = "default"

// Options are what a scheduler is made of. The caller owns the catalogs, Cluster, Binder and Journal and closes
// them afterwards.
type Options struct {
	Catalog *catalog.Catalog
	Cluster *cluster.Cluster
	Binder  *bind.Binder
	// Formats are the table formats beside Iceberg; nil: none. FormatCatalogs are the catalogs of theirs.
	Formats        *format.Set
	FormatCatalogs []FormatCatalog
	Query          QueryOptions
	// MaxRunning is how many statements execute at once; 0: four for each slot of the executors. MaxQueued is how many may
	// wait for their turn.
	MaxRunning, MaxQueued int
	// CanShuffle says whether values of a type survive a shuffle file exactly; nil: all do.
	CanShuffle func(plan.Type) bool
	// Journal notes writes under way; nil: files of a write that a crash cuts off stay.
	Journal *journal.Journal
	Logger  *slog.Logger
}

// Scheduler is Serac's engine. It is safe for concurrent use.
type Scheduler struct {
	opts Options
	log  *slog.Logger
	gate *admission.Gate
	// goroutines are those of the statements.
	goroutines sync.WaitGroup
	// bounds are queries that have been bound.
	bounds boundQueries
}

var _ engine.Engine = (*Scheduler)(nil)

// New makes a scheduler.
func New(opts Options) *Scheduler {
	log := opts.Logger
	if log == nil {
		log = slog.Default()
	}
	if opts.Formats == nil {
		opts.Formats = &format.Set{}
	}
	s := &Scheduler{opts: opts, log: log, bounds: newBoundQueries()}
	s.gate = s.newGate()
	return s
}

// Close waits for the statements' goroutines. The statements have been closed, and the Cluster too: that has ended their jobs.
func (s *Scheduler) Close() { s.goroutines.Wait() }

// NewSession opens a session in the catalog's default schema.
func (s *Scheduler) NewSession(user string) *engine.Session {
	return engine.OpenSession(uuid.NewString(), user, s.opts.Catalog.Name(), DefaultSchema)
}

// Prepare parses and binds a statement. Parameters count as NULLs.
func (s *Scheduler) Prepare(ctx context.Context, session *engine.Session, text string) (*engine.Prepared, error) {
	count, err := parameterCount(text)
	if err != nil {
		return nil, err
	}
	asked := text
	if count > 0 {
		nulls := make([]any, count)
		if text, err = bindParameters(text, nulls); err != nil {
			return nil, err
		}
	}
	st, err := s.parse(session, text)
	if err != nil {
		return nil, err
	}
	isQuery, schema, err := st.shape(ctx)
	if err != nil {
		return nil, err
	}
	prepared := &engine.Prepared{IsQuery: isQuery, Schema: schema, Params: count}
	if count > 0 {
		prepared.ParamTypes = s.parameterTypes(ctx, session, asked)
	}
	return prepared, nil
}

// Execute starts a statement.
func (s *Scheduler) Execute(ctx context.Context, session *engine.Session, text string, params []any) (engine.Execution, error) {
	text, err := bindParameters(text, params)
	if err != nil {
		return nil, err
	}
	st, err := s.parse(session, text)
	if err != nil {
		return nil, err
	}
	return st.start(ctx)
}

// SubstraitSQL is a Substrait plan as the text of a query.
func (s *Scheduler) SubstraitSQL(plan []byte) (string, error) { return substrait.SQL(plan) }

// statement is one statement of one session, pinned to one version of each table it names (rule 17).
type statement struct {
	*Scheduler
	id      string
	session *engine.Session
	parsed  sql.Statement
	options QueryOptions
	// settings are DuckDB's.
	settings map[string]string
	tables   *pinned
}

func (s *Scheduler) parse(session *engine.Session, text string) (*statement, error) {
	parsed, err := sql.Parse(text)
	if err != nil {
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
	}
	options, settings, err := s.optionsOf(session.Settings())
	if err != nil {
		return nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("name a statement: %w", err)
	}
	return &statement{
		Scheduler: s, id: id.String(), session: session, parsed: parsed, options: options, settings: settings,
		tables: newPinned(s.opts.Catalog),
	}, nil
}

// start is the switch from statements to what runs them.
func (st *statement) start(ctx context.Context) (engine.Execution, error) {
	switch p := st.parsed.(type) {
	case *sql.Query:
		return st.query(ctx, p.Text)
	case *sql.Insert:
		return st.insert(ctx, p)
	case *sql.CreateTableAs:
		return st.createTableAs(ctx, p)
	case *sql.CreateSchema, *sql.DropSchema, *sql.CreateTable, *sql.DropTable:
		return st.ddl(ctx)
	case *sql.ShowCatalogs, *sql.ShowSchemas, *sql.ShowTables, *sql.Describe:
		return st.show(ctx)
	case *sql.Set, *sql.Reset, *sql.Use:
		return st.change(ctx)
	case *sql.Explain:
		return st.explain(ctx, p)
	case *sql.Unsupported:
		return nil, statementError("%s is not supported yet", p.Head)
	}
	return nil, statementError("statement %T is not supported", st.parsed)
}

// shape is what the statement returns, found without running it.
func (st *statement) shape(ctx context.Context) (isQuery bool, schema *arrow.Schema, err error) {
	switch p := st.parsed.(type) {
	case *sql.Query:
		bound, err := st.bindAgain(ctx, p.Text)
		if err != nil {
			return true, nil, err
		}
		return true, bound.Arrow, nil
	case *sql.ShowCatalogs, *sql.ShowSchemas, *sql.ShowTables, *sql.Describe:
		return true, st.showSchema(), nil
	case *sql.Explain:
		return true, explainSchema, nil
	case *sql.Unsupported:
		return false, nil, statementError("%s is not supported yet", p.Head)
	default:
		return false, countSchema, nil
	}
}

// Catalogs lists the Iceberg catalog and those of other table formats.
func (s *Scheduler) Catalogs(context.Context) ([]string, error) {
	names := []string{s.opts.Catalog.Name()}
	for _, c := range s.opts.FormatCatalogs {
		names = append(names, c.Name)
	}
	return names, nil
}

// Schemas lists a catalog's schemas.
func (s *Scheduler) Schemas(ctx context.Context, name string) ([]string, error) {
	c, err := s.formatCatalog(name)
	if err != nil {
		return nil, err
	}
	if c != nil {
		names, err := c.Schemas(ctx)
		return names, formatError(err)
	}
	names, err := s.opts.Catalog.Namespaces(ctx)
	return names, catalogError(err)
}

// Tables lists a schema's tables.
func (s *Scheduler) Tables(ctx context.Context, name, schema string) ([]string, error) {
	c, err := s.formatCatalog(name)
	if err != nil {
		return nil, err
	}
	if c != nil {
		names, err := c.Tables(ctx, schema)
		return names, formatError(err)
	}
	names, err := s.opts.Catalog.Tables(ctx, schema)
	return names, catalogError(err)
}

// TableSchema is the Arrow schema of a table as a query of it would return it.
func (s *Scheduler) TableSchema(ctx context.Context, name, schema, table string) (*arrow.Schema, error) {
	st := &statement{Scheduler: s, session: engine.OpenSession("", "", name, schema), tables: newPinned(s.opts.Catalog)}
	t, err := st.resolve(ctx, bind.Ref{Parts: []string{name, schema, table}})
	if err != nil {
		return nil, err
	}
	nulls := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		nulls[i] = fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type.SQL(), plan.QuoteIdent(c.Name))
	}
	bound, err := st.bind(ctx, "SELECT "+strings.Join(nulls, ", "))
	if err != nil {
		return nil, err
	}
	fields := bound.Arrow.Fields()
	for i, c := range t.Columns {
		fields[i].Nullable = c.Nullable
	}
	return arrow.NewSchema(fields, nil), nil
}

// statementError is the statement's own fault: retrying cannot help.
func statementError(format string, args ...any) error {
	return wire.Failf(seracv1.FailureKind_FAILURE_KIND_STATEMENT, format, args...)
}

// catalogError types the errors of catalogs: names that are wrong are the statement's fault, the rest keeps its kind.
func catalogError(err error) error {
	for _, own := range []error{
		catalog.ErrNoTable, catalog.ErrNoNamespace, catalog.ErrTableExists, catalog.ErrNamespaceExists,
		catalog.ErrNamespaceNotEmpty, catalog.ErrBadName, wire.ErrNoKeyService,
	} {
		if errors.Is(err, own) {
			return wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
		}
	}
	return err
}
