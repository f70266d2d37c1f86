package tpch

import (
	"fmt"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Name    string
	Type    string // as CREATE TABLE takes it
	NotNull bool
}

// Table is one of the eight tables.
type Table struct {
	Name    string
	Columns []Column
	// PartitionedBy is a partitioning that suits the table, for tests that want one: terms of PARTITIONED BY. "" for the
	// small tables. DDL does not use it.
	PartitionedBy string
	// chunks says whether the table is large enough to be made in pieces, one row range each.
	chunked bool
	// sel is the SELECT that makes the rows whose leading keys are in [from, to).
	sel func(g generator, from, to int64) string
	// keys is how many leading keys (orders for lineitem, parts for partsupp) there are.
	keys func(g generator) int64
}

// Tables are the eight tables in an order in which foreign keys point backwards.
func Tables() []Table {
	return []Table{
		{Name: "region", sel: generator.region, keys: fixed(len(regions)), Columns: columns(
			"r_regionkey INTEGER", "r_name VARCHAR", "r_comment VARCHAR NULL")},
		{Name: "nation", sel: generator.nation, keys: fixed(len(nations)), Columns: columns(
			"n_nationkey INTEGER", "n_name VARCHAR", "n_regionkey INTEGER", "n_comment VARCHAR NULL")},
		{Name: "supplier", sel: generator.supplier, keys: generator.suppliers, chunked: true, Columns: columns(
			"s_suppkey INTEGER", "s_name VARCHAR", "s_address VARCHAR", "s_nationkey INTEGER", "s_phone VARCHAR",
			"s_acctbal DECIMAL(15,2)", "s_comment VARCHAR")},
		{Name: "part", sel: generator.part, keys: generator.parts, chunked: true, PartitionedBy: "p_brand", Columns: columns(
			"p_partkey INTEGER", "p_name VARCHAR", "p_mfgr VARCHAR", "p_brand VARCHAR", "p_type VARCHAR", "p_size INTEGER",
			"p_container VARCHAR", "p_retailprice DECIMAL(15,2)", "p_comment VARCHAR")},
		{Name: "partsupp", sel: generator.partsupp, keys: generator.parts, chunked: true, PartitionedBy: "bucket(8, ps_partkey)", Columns: columns(
			"ps_partkey INTEGER", "ps_suppkey INTEGER", "ps_availqty INTEGER", "ps_supplycost DECIMAL(15,2)", "ps_comment VARCHAR")},
		{Name: "customer", sel: generator.customer, keys: generator.customers, chunked: true, PartitionedBy: "c_mktsegment", Columns: columns(
			"c_custkey INTEGER", "c_name VARCHAR", "c_address VARCHAR", "c_nationkey INTEGER", "c_phone VARCHAR",
			"c_acctbal DECIMAL(15,2)", "c_mktsegment VARCHAR", "c_comment VARCHAR")},
		{Name: "orders", sel: generator.orders, keys: generator.orderCount, chunked: true, PartitionedBy: "year(o_orderdate)", Columns: columns(
			"o_orderkey BIGINT", "o_custkey INTEGER", "o_orderstatus VARCHAR", "o_totalprice DECIMAL(15,2)", "o_orderdate DATE",
			"o_orderpriority VARCHAR", "o_clerk VARCHAR", "o_shippriority INTEGER", "o_comment VARCHAR")},
		{Name: "lineitem", sel: generator.lineitem, keys: generator.orderCount, chunked: true, PartitionedBy: "year(l_shipdate)", Columns: columns(
			"l_orderkey BIGINT", "l_partkey INTEGER", "l_suppkey INTEGER", "l_linenumber INTEGER", "l_quantity DECIMAL(15,2)",
			"l_extendedprice DECIMAL(15,2)", "l_discount DECIMAL(15,2)", "l_tax DECIMAL(15,2)", "l_returnflag VARCHAR",
			"l_linestatus VARCHAR", "l_shipdate DATE", "l_commitdate DATE", "l_receiptdate DATE", "l_shipinstruct VARCHAR",
			"l_shipmode VARCHAR", "l_comment VARCHAR")},
	}
}

func fixed(n int) func(generator) int64 { return func(generator) int64 { return int64(n) } }

// columns reads "name TYPE" (required) and "name TYPE NULL" (optional).
func columns(definitions ...string) []Column {
	list := make([]Column, len(definitions))
	for i, d := range definitions {
		name, typ, _ := strings.Cut(d, " ")
		required := strings.TrimSuffix(typ, " NULL")
		list[i] = Column{Name: name, Type: required, NotNull: required == typ}
	}
	return list
}

// TableByName finds a table; it panics for a name that is none of the eight.
func TableByName(name string) Table {
	for _, t := range Tables() {
		if t.Name == name {
			return t
		}
	}
	panic(fmt.Sprintf("tpch: no table %q", name))
}

// DDL is the columns in parentheses, as CREATE TABLE takes them.
func (t Table) DDL() string {
	defs := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		defs[i] = c.Name + " " + c.Type
		if c.NotNull {
			defs[i] += " NOT NULL"
		}
	}
	return "(" + strings.Join(defs, ", ") + ")"
}

// CreateSQL is the CREATE TABLE statement for a table of the given name, which stands in the text as it is.
func (t Table) CreateSQL(target string) string { return "CREATE TABLE " + target + " " + t.DDL() }

// Chunks is how many pieces of at most about rows rows the table falls into at a scale factor; 1 for the small ones.
func (t Table) Chunks(sf float64, rows int64) int {
	if !t.chunked || rows <= 0 {
		return 1
	}
	perKey := map[string]int64{"partsupp": suppliersPerPart, "lineitem": (1 + maxLines) / 2}[t.Name]
	return int(max(1, (t.keys(generator{sf})*max(perKey, 1)+rows-1)/rows))
}

// Rows is the number of rows at a scale factor. For lineitem, whose orders have 1 to 7 lines, it is what is expected;
// the actual number differs by less than one in a hundred from scale factor 0.01 on.
func (t Table) Rows(sf float64) int64 {
	perKey := map[string]int64{"partsupp": suppliersPerPart, "lineitem": (1 + maxLines) / 2}[t.Name]
	return t.keys(generator{sf}) * max(perKey, 1)
}
