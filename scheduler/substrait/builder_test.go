package substrait

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/substrait-io/substrait-go/v8/expr"
	sub "github.com/substrait-io/substrait-go/v8/plan"
	"github.com/substrait-io/substrait-go/v8/types"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/tpch"
)

// named is a relation of substrait-go's with names for its columns, which its plans do not have.
type named struct {
	sub.Rel
	names []string
}

// maker makes plans with substrait-go's builder.
type maker struct {
	t *testing.T
	b sub.Builder
}

func made[T any](m maker) func(T, error) T {
	return func(v T, err error) T {
		m.t.Helper()
		require.NoError(m.t, err)
		return v
	}
}

func (m maker) scan(name string) named {
	schema := types.NamedStruct{Struct: types.StructType{Nullability: types.NullabilityRequired}}
	for _, c := range tpch.TableByName(name).Columns {
		schema.Names = append(schema.Names, c.Name)
		schema.Struct.Types = append(schema.Struct.Types, m.typ(c.Type))
	}
	return named{m.b.NamedScan([]string{name}, schema), schema.Names}
}

func (m maker) typ(name string) types.Type {
	of, err := plan.ParseType(name)
	require.NoError(m.t, err)
	switch n := types.NullabilityRequired; of.Kind {
	case plan.Integer:
		return &types.Int32Type{Nullability: n}
	case plan.BigInt:
		return &types.Int64Type{Nullability: n}
	case plan.Varchar:
		return &types.StringType{Nullability: n}
	case plan.Date:
		return &types.DateType{Nullability: n}
	case plan.Decimal:
		return &types.DecimalType{Nullability: n, Precision: int32(of.Width), Scale: int32(of.Scale)}
	}
	m.t.Fatalf("no type %s", name)
	return nil
}

func (m maker) index(of named, name string) int32 {
	i := slices.Index(of.names, name)
	require.GreaterOrEqual(m.t, i, 0, "%s in %v", name, of.names)
	return int32(i)
}

func (m maker) col(of named, name string) expr.Expression {
	return made[*expr.FieldReference](m)(m.b.RootFieldRef(of.Rel, m.index(of, name)))
}

func (m maker) fn(name string, args ...expr.Expression) expr.Expression {
	urn, name, _ := strings.Cut(name, ".")
	boxed := make([]types.FuncArg, len(args))
	for i, a := range args {
		boxed[i] = a
	}
	return made[*expr.ScalarFunction](m)(m.b.ScalarFn("extension:io.substrait:functions_"+urn, name, nil, boxed...))
}

func (m maker) measure(name string, args ...expr.Expression) sub.AggRelMeasure {
	urn, name, _ := strings.Cut(name, ".")
	boxed := make([]types.FuncArg, len(args))
	for i, a := range args {
		boxed[i] = a
	}
	return m.b.Measure(made[*expr.AggregateFunction](m)(m.b.AggregateFn("extension:io.substrait:functions_"+urn, name, nil, boxed...)), nil)
}

func (m maker) eq(a, b expr.Expression) expr.Expression     { return m.fn("comparison.equal", a, b) }
func (m maker) and(args ...expr.Expression) expr.Expression { return m.fn("boolean.and", args...) }
func (m maker) or(args ...expr.Expression) expr.Expression  { return m.fn("boolean.or", args...) }
func (m maker) str(s string) expr.Expression                { return expr.NewPrimitiveLiteral(s, false) }
func (m maker) i32(n int32) expr.Expression                 { return expr.NewPrimitiveLiteral(n, false) }

func (m maker) date(s string) expr.Expression {
	day, err := time.Parse(time.DateOnly, s)
	require.NoError(m.t, err)
	return expr.NewPrimitiveLiteral(types.Date(day.Unix()/86400), false)
}

// dec is a DECIMAL(15,2) of hundredths.
func (m maker) dec(hundredths int64) expr.Expression {
	value := make([]byte, 16)
	big.NewInt(hundredths).FillBytes(value)
	slices.Reverse(value)
	return made[expr.Literal](m)(expr.NewLiteral(&types.Decimal{Value: value, Precision: 15, Scale: 2}, false))
}

func (m maker) filter(in named, cond expr.Expression) named {
	return named{made[*sub.FilterRel](m)(m.b.Filter(in.Rel, cond)), in.names}
}

// join gives the condition a way to name the columns of both sides.
func (m maker) join(l, r named, kind sub.JoinType, cond func(col func(string) expr.Expression) expr.Expression) named {
	both := named{names: append(slices.Clone(l.names), r.names...)}
	e := cond(func(name string) expr.Expression {
		return made[*expr.FieldReference](m)(m.b.JoinedRecordFieldRef(l.Rel, r.Rel, m.index(both, name)))
	})
	both.Rel = made[*sub.JoinRel](m)(m.b.Join(l.Rel, r.Rel, e, kind))
	if kind == sub.JoinTypeLeftSemi || kind == sub.JoinTypeLeftAnti {
		both.names = l.names
	}
	return both
}

// on joins where two columns are equal.
func (m maker) on(l, r named, a, b string) named {
	return m.join(l, r, sub.JoinTypeInner, func(col func(string) expr.Expression) expr.Expression { return m.eq(col(a), col(b)) })
}

// project keeps nothing but the expressions, by the emit of a projection.
func (m maker) project(in named, names []string, es ...expr.Expression) named {
	remap := make([]int32, len(es))
	for i := range es {
		remap[i] = int32(len(in.names) + i)
	}
	return named{made[*sub.ProjectRel](m)(m.b.ProjectRemap(in.Rel, remap, es...)), names}
}

func (m maker) aggregate(in named, by, measured []string, measures ...sub.AggRelMeasure) named {
	columns := make([]int32, len(by))
	for i, name := range by {
		columns[i] = m.index(in, name)
	}
	return named{made[*sub.AggregateRel](m)(m.b.AggregateColumns(in.Rel, measures, columns...)), append(slices.Clone(by), measured...)}
}

// sort takes the names of columns, those of descending order with a - before.
func (m maker) sort(in named, by ...string) named {
	var fields []expr.SortField
	for _, name := range by {
		kind := types.SortAscNullsLast
		if strings.HasPrefix(name, "-") {
			kind = types.SortDescNullsLast
		}
		fields = append(fields, expr.SortField{Expr: m.col(in, strings.TrimPrefix(name, "-")), Kind: kind})
	}
	return named{made[*sub.SortRel](m)(m.b.Sort(in.Rel, fields...)), in.names}
}

func (m maker) fetch(in named, offset, count int64) named {
	return named{made[*sub.FetchRel](m)(m.b.Fetch(in.Rel, offset, count)), in.names}
}

func (m maker) plan(root named) []byte {
	p := made[*sub.Plan](m)(m.b.Plan(root.Rel, root.names))
	message, err := p.ToProto()
	require.NoError(m.t, err)
	b, err := proto.Marshal(message)
	require.NoError(m.t, err)
	return b
}

// revenue is l_extendedprice * (1 - l_discount).
func (m maker) revenue(in named) expr.Expression {
	return m.fn("arithmetic_decimal.multiply", m.col(in, "l_extendedprice"),
		m.fn("arithmetic_decimal.subtract", m.dec(100), m.col(in, "l_discount")))
}

// between is low <= e < high.
func (m maker) between(e expr.Expression, low, high string) expr.Expression {
	return m.and(m.fn("comparison.gte", e, m.date(low)), m.fn("comparison.lt", e, m.date(high)))
}

// builtQueries are TPC-H's queries in substrait-go's builder.
var builtQueries = map[int]func(m maker) named{
	1: func(m maker) named {
		l := m.scan("lineitem")
		l = m.filter(l, m.fn("comparison.lte", m.col(l, "l_shipdate"), m.date("1998-09-02")))
		charge := m.fn("arithmetic_decimal.multiply", m.revenue(l), m.fn("arithmetic_decimal.add", m.dec(100), m.col(l, "l_tax")))
		sum := func(e expr.Expression) sub.AggRelMeasure { return m.measure("arithmetic_decimal.sum", e) }
		avg := func(name string) sub.AggRelMeasure { return m.measure("arithmetic_decimal.avg", m.col(l, name)) }
		a := m.aggregate(l, []string{"l_returnflag", "l_linestatus"},
			[]string{"sum_qty", "sum_base_price", "sum_disc_price", "sum_charge", "avg_qty", "avg_price", "avg_disc", "count_order"},
			sum(m.col(l, "l_quantity")), sum(m.col(l, "l_extendedprice")), sum(m.revenue(l)), sum(charge),
			avg("l_quantity"), avg("l_extendedprice"), avg("l_discount"), m.measure("aggregate_generic.count"))
		return m.sort(a, "l_returnflag", "l_linestatus")
	},
	3: func(m maker) named {
		c, o, l := m.scan("customer"), m.scan("orders"), m.scan("lineitem")
		c = m.filter(c, m.eq(m.col(c, "c_mktsegment"), m.str("BUILDING")))
		o = m.filter(o, m.fn("comparison.lt", m.col(o, "o_orderdate"), m.date("1995-03-15")))
		l = m.filter(l, m.fn("comparison.gt", m.col(l, "l_shipdate"), m.date("1995-03-15")))
		j := m.on(m.on(c, o, "c_custkey", "o_custkey"), l, "o_orderkey", "l_orderkey")
		a := m.aggregate(j, []string{"l_orderkey", "o_orderdate", "o_shippriority"}, []string{"revenue"}, m.measure("arithmetic_decimal.sum", m.revenue(j)))
		a = m.project(a, []string{"l_orderkey", "revenue", "o_orderdate", "o_shippriority"},
			m.col(a, "l_orderkey"), m.col(a, "revenue"), m.col(a, "o_orderdate"), m.col(a, "o_shippriority"))
		return m.fetch(m.sort(a, "-revenue", "o_orderdate"), 0, 10)
	},
	4: func(m maker) named { // its EXISTS as a semi join: substrait-go builds no outer references
		o, l := m.scan("orders"), m.scan("lineitem")
		o = m.filter(o, m.between(m.col(o, "o_orderdate"), "1993-07-01", "1993-10-01"))
		l = m.filter(l, m.fn("comparison.lt", m.col(l, "l_commitdate"), m.col(l, "l_receiptdate")))
		o = m.join(o, l, sub.JoinTypeLeftSemi, func(col func(string) expr.Expression) expr.Expression {
			return m.eq(col("o_orderkey"), col("l_orderkey"))
		})
		return m.sort(m.aggregate(o, []string{"o_orderpriority"}, []string{"order_count"}, m.measure("aggregate_generic.count")), "o_orderpriority")
	},
	5: func(m maker) named {
		o, r := m.scan("orders"), m.scan("region")
		o = m.filter(o, m.between(m.col(o, "o_orderdate"), "1994-01-01", "1995-01-01"))
		r = m.filter(r, m.eq(m.col(r, "r_name"), m.str("ASIA")))
		j := m.on(m.on(m.scan("customer"), o, "c_custkey", "o_custkey"), m.scan("lineitem"), "o_orderkey", "l_orderkey")
		j = m.join(j, m.scan("supplier"), sub.JoinTypeInner, func(col func(string) expr.Expression) expr.Expression {
			return m.and(m.eq(col("l_suppkey"), col("s_suppkey")), m.eq(col("c_nationkey"), col("s_nationkey")))
		})
		j = m.on(m.on(j, m.scan("nation"), "s_nationkey", "n_nationkey"), r, "n_regionkey", "r_regionkey")
		return m.sort(m.aggregate(j, []string{"n_name"}, []string{"revenue"}, m.measure("arithmetic_decimal.sum", m.revenue(j))), "-revenue")
	},
	6: func(m maker) named {
		l := m.scan("lineitem")
		l = m.filter(l, m.and(m.between(m.col(l, "l_shipdate"), "1994-01-01", "1995-01-01"),
			m.fn("comparison.between", m.col(l, "l_discount"), m.dec(5), m.dec(7)),
			m.fn("comparison.lt", m.col(l, "l_quantity"), m.dec(2400))))
		return m.aggregate(l, nil, []string{"revenue"},
			m.measure("arithmetic_decimal.sum", m.fn("arithmetic_decimal.multiply", m.col(l, "l_extendedprice"), m.col(l, "l_discount"))))
	},
	12: func(m maker) named { // IN and CASE
		l := m.scan("lineitem")
		l = m.filter(l, m.and(
			&expr.SingularOrList{Value: m.col(l, "l_shipmode"), Options: []expr.Expression{m.str("MAIL"), m.str("SHIP")}},
			m.fn("comparison.lt", m.col(l, "l_commitdate"), m.col(l, "l_receiptdate")),
			m.fn("comparison.lt", m.col(l, "l_shipdate"), m.col(l, "l_commitdate")),
			m.between(m.col(l, "l_receiptdate"), "1994-01-01", "1995-01-01")))
		j := m.on(l, m.scan("orders"), "l_orderkey", "o_orderkey")
		urgent := func(then, otherwise int32) expr.Expression {
			p := m.col(j, "o_orderpriority")
			return made[*expr.IfThen](m)(expr.NewIfThen(expr.IfThenPair{
				If: m.or(m.eq(p, m.str("1-URGENT")), m.eq(p, m.str("2-HIGH"))), Then: m.i32(then),
			}, m.i32(otherwise)))
		}
		return m.sort(m.aggregate(j, []string{"l_shipmode"}, []string{"high_line_count", "low_line_count"},
			m.measure("arithmetic.sum", urgent(1, 0)), m.measure("arithmetic.sum", urgent(0, 1))), "l_shipmode")
	},
	13: func(m maker) named { // an outer join, and an aggregate of an aggregate
		j := m.join(m.scan("customer"), m.scan("orders"), sub.JoinTypeLeft, func(col func(string) expr.Expression) expr.Expression {
			return m.and(m.eq(col("c_custkey"), col("o_custkey")),
				m.fn("boolean.not", m.fn("string.like", col("o_comment"), m.str("%special%requests%"))))
		})
		a := m.aggregate(j, []string{"c_custkey"}, []string{"c_count"}, m.measure("aggregate_generic.count:any", m.col(j, "o_orderkey")))
		return m.sort(m.aggregate(a, []string{"c_count"}, []string{"custdist"}, m.measure("aggregate_generic.count")), "-custdist", "-c_count")
	},
	14: func(m maker) named { // a quotient of decimals
		l := m.scan("lineitem")
		l = m.filter(l, m.between(m.col(l, "l_shipdate"), "1995-09-01", "1995-10-01"))
		j := m.on(l, m.scan("part"), "l_partkey", "p_partkey")
		promo := made[*expr.IfThen](m)(expr.NewIfThen(expr.IfThenPair{
			If: m.fn("string.starts_with", m.col(j, "p_type"), m.str("PROMO")), Then: m.revenue(j),
		}, m.fn("arithmetic_decimal.multiply", m.dec(0), m.fn("arithmetic_decimal.subtract", m.dec(0), m.dec(0)))))
		a := m.aggregate(j, nil, []string{"promo", "all"}, m.measure("arithmetic_decimal.sum", promo), m.measure("arithmetic_decimal.sum", m.revenue(j)))
		return m.project(a, []string{"promo_revenue"}, m.fn("arithmetic_decimal.divide",
			m.fn("arithmetic_decimal.multiply", m.dec(100_00), m.col(a, "promo")), m.col(a, "all")))
	},
	18: func(m maker) named { // IN over a subquery with HAVING
		l, o := m.scan("lineitem"), m.scan("orders")
		big := m.aggregate(l, []string{"l_orderkey"}, []string{"quantity"}, m.measure("arithmetic_decimal.sum", m.col(l, "l_quantity")))
		big = m.filter(big, m.fn("comparison.gt", m.col(big, "quantity"), &expr.Cast{
			Type: &types.DecimalType{Precision: 38, Scale: 2, Nullability: types.NullabilityNullable}, Input: m.dec(300_00),
		}))
		big = m.project(big, []string{"l_orderkey"}, m.col(big, "l_orderkey"))
		o = m.filter(o, made[*sub.InPredicateSubquery](m)(m.b.InPredicateSubquery([]expr.Expression{m.col(o, "o_orderkey")}, big.Rel)))
		j := m.on(m.on(m.scan("customer"), o, "c_custkey", "o_custkey"), l, "o_orderkey", "l_orderkey")
		a := m.aggregate(j, []string{"c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice"}, []string{"quantity"},
			m.measure("arithmetic_decimal.sum", m.col(j, "l_quantity")))
		return m.fetch(m.sort(a, "-o_totalprice", "o_orderdate"), 0, 100)
	},
	// TPC-H's query 16, whose NOT IN is an anti join here.
	16: func(m maker) named {
		p, s := m.scan("part"), m.scan("supplier")
		var sizes []expr.Expression
		for _, n := range []int32{49, 14, 23, 45, 19, 3, 36, 9} {
			sizes = append(sizes, m.i32(n))
		}
		p = m.filter(p, m.and(m.fn("comparison.not_equal", m.col(p, "p_brand"), m.str("Brand#45")),
			m.fn("boolean.not", m.fn("string.like", m.col(p, "p_type"), m.str("MEDIUM POLISHED%"))),
			&expr.SingularOrList{Value: m.col(p, "p_size"), Options: sizes}))
		s = m.filter(s, m.fn("string.like", m.col(s, "s_comment"), m.str("%Customer%Complaints%")))
		j := m.on(p, m.scan("partsupp"), "p_partkey", "ps_partkey")
		j = m.join(j, s, sub.JoinTypeLeftAnti, func(col func(string) expr.Expression) expr.Expression {
			return m.eq(col("ps_suppkey"), col("s_suppkey"))
		})
		by := []string{"p_brand", "p_type", "p_size"}
		distinct := m.aggregate(j, append(slices.Clone(by), "ps_suppkey"), nil)
		a := m.aggregate(distinct, by, []string{"supplier_cnt"}, m.measure("aggregate_generic.count:any", m.col(distinct, "ps_suppkey")))
		return m.sort(a, "-supplier_cnt", "p_brand", "p_type", "p_size")
	},
}

// TestBuiltPlans holds plans of substrait-go's builder against the SQL of the same queries.
func TestBuiltPlans(t *testing.T) {
	db := openDatabase(t)
	require.NoError(t, tpch.CreateIn(t.Context(), db.conn.Exec, 0.01))
	for n, build := range builtQueries {
		t.Run(fmt.Sprintf("q%02d", n), func(t *testing.T) {
			m := maker{t, sub.NewBuilderDefault()}
			text, err := SQL(m.plan(build(m)))
			require.NoError(t, err)
			t.Log(text)
			got, err := db.rows(text)
			require.NoError(t, err)
			// Substrait's average of a decimal has the decimal's digits.
			want, err := db.rows(average.ReplaceAllString(tpch.Query(n), "CAST($0 AS DECIMAL(15,2))"))
			require.NoError(t, err)
			require.NotEmpty(t, want.Rows)
			require.Empty(t, compare.Diff(compare.Rounded(want), compare.Rounded(got), tpch.OrderedBy(n)...))
		})
	}
}

// TestBuiltRelations are the relations and subqueries that substrait-go builds and TPC-H's queries have no need of.
func TestBuiltRelations(t *testing.T) {
	db := openDatabase(t)
	require.NoError(t, tpch.CreateIn(t.Context(), db.conn.Exec, 0.01))
	rows := func(m maker, keys ...int32) named {
		var values []expr.StructLiteralValue
		for _, k := range keys {
			values = append(values, expr.StructLiteralValue{expr.NewPrimitiveLiteral(k, false), expr.NewPrimitiveLiteral(fmt.Sprint("n", k), false)})
		}
		names := []string{"k", "v"}
		return named{made[*sub.VirtualTableReadRel](m)(m.b.VirtualTable(names, values...)), names}
	}
	key := func(m maker, in named) sub.Rel { return m.project(in, []string{"k"}, m.col(in, "k")).Rel }
	for sql, build := range map[string]func(m maker) named{
		"VALUES (3, 'n3'), (1, 'n1')": func(m maker) named { return rows(m, 3, 1) },
		"SELECT 1::INTEGER, 'n1'::VARCHAR WHERE false": func(m maker) named {
			names := []string{"k", "v"}
			return named{made[*sub.VirtualTableReadRel](m)(m.b.EmptyVirtualTable(names, []types.Type{m.typ("INTEGER"), m.typ("VARCHAR")})), names}
		},
		"SELECT r_name, k FROM region, (VALUES (1), (2)) AS x(k)": func(m maker) named {
			r, x := m.scan("region"), rows(m, 1, 2)
			return named{made[*sub.CrossRel](m)(m.b.CrossRemap(r.Rel, x.Rel, []int32{1, 3})), []string{"r_name", "k"}}
		},
		"VALUES (1, 'n1'), (2, 'n2'), (2, 'n2'), (3, 'n3')": func(m maker) named {
			x := rows(m, 1, 2)
			return named{made[*sub.SetRel](m)(m.b.Set(sub.SetOpUnionAll, x.Rel, rows(m, 2, 3).Rel)), x.names}
		},
		"VALUES ('n1')": func(m maker) named {
			return named{made[*sub.SetRel](m)(m.b.SetRemap(sub.SetOpMinusPrimary, []int32{1}, rows(m, 1, 2, 2).Rel, rows(m, 2, 3).Rel)), []string{"v"}}
		},
		"SELECT n_name, n_nationkey FROM nation WHERE n_nationkey > ALL (VALUES (3), (20)) ORDER BY 2 LIMIT 2 OFFSET 1": func(m maker) named {
			n := m.scan("nation")
			n = m.filter(n, made[*sub.SetComparisonSubquery](m)(m.b.SetComparisonSubquery(m.col(n, "n_nationkey"), key(m, rows(m, 3, 20)),
				sub.SetComparisonReductionOpAll, sub.SetComparisonComparisonOpGt)))
			n = m.fetch(m.sort(n, "n_nationkey"), 1, 2)
			return m.project(n, []string{"n_name", "n_nationkey"}, m.col(n, "n_name"), m.col(n, "n_nationkey"))
		},
		"SELECT n_nationkey = (SELECT max(n_nationkey) FROM nation) FROM nation": func(m maker) named {
			n := m.scan("nation")
			last := m.aggregate(n, nil, []string{"last"}, m.measure("arithmetic.max", m.col(n, "n_nationkey")))
			return m.project(n, []string{"is_last"}, m.eq(m.col(n, "n_nationkey"), made[*sub.ScalarSubquery](m)(m.b.ScalarSubquery(last.Rel))))
		},
		"SELECT r_name FROM region WHERE EXISTS (SELECT * FROM nation WHERE n_name = 'PERU')": func(m maker) named {
			n, r := m.scan("nation"), m.scan("region")
			n = m.filter(n, m.eq(m.col(n, "n_name"), m.str("PERU")))
			r = m.filter(r, made[*sub.SetPredicateSubquery](m)(m.b.SetPredicateSubquery(n.Rel, sub.SetPredicateOpExists)))
			return m.project(r, []string{"r_name"}, m.col(r, "r_name"))
		},
	} {
		m := maker{t, sub.NewBuilderDefault()}
		text, err := SQL(m.plan(build(m)))
		require.NoError(t, err, sql)
		got, err := db.rows(text)
		require.NoError(t, err, text)
		want, err := db.rows(sql)
		require.NoError(t, err)
		require.Empty(t, compare.Diff(compare.Rounded(want), compare.Rounded(got)), "%s\n%s", sql, text)
	}
}
