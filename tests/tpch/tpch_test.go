package tpch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/scheduler/sql"
)

const testSF = 0.01

// load fills a database; it is closed with the test.
func load(t *testing.T, sf float64) *duckdb.Conn {
	t.Helper()
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	require.NoError(t, CreateIn(ctx, conn.Exec, sf))
	return conn
}

func text(t *testing.T, conn *duckdb.Conn, query string) string {
	t.Helper()
	value, err := conn.Text(context.Background(), query)
	require.NoError(t, err, query)
	return value
}

// What the data must be like, at a scale factor that is quick to make.
func TestData(t *testing.T) {
	conn := load(t, testSF)
	t.Run("rows", func(t *testing.T) { testRowCounts(t, conn) })
	t.Run("rules", func(t *testing.T) { testRules(t, conn) })
	t.Run("distributions", func(t *testing.T) { testDistributions(t, conn) })
	t.Run("determinism", func(t *testing.T) { testDeterminism(t, conn) })
	t.Run("queries", func(t *testing.T) { testQueries(t, conn) })
}

func testRowCounts(t *testing.T, conn *duckdb.Conn) {
	for name, want := range map[string]int64{
		"region": 5, "nation": 25, "supplier": 100, "part": 2000, "partsupp": 8000, "customer": 1500, "orders": 15000,
	} {
		require.Equal(t, want, TableByName(name).Rows(testSF), name)
		require.Equal(t, fmt.Sprint(want), text(t, conn, "SELECT count(*)::VARCHAR FROM "+name), name)
	}
	require.EqualValues(t, 60_000, TableByName("lineitem").Rows(testSF))
	require.Equal(t, "true", text(t, conn, "SELECT (count(*) BETWEEN 59400 AND 60600)::VARCHAR FROM lineitem"))
	for name, want := range map[string]int64{
		"region": 5, "nation": 25, "supplier": 10_000, "part": 200_000, "partsupp": 800_000, "customer": 150_000, "orders": 1_500_000, "lineitem": 6_000_000,
	} {
		require.Equal(t, want, TableByName(name).Rows(1), name)
	}
}

// Each statement counts rows that break a rule of the specification.
func testRules(t *testing.T, conn *duckdb.Conn) {
	for rule, breaches := range map[string]string{
		"primary keys": `SELECT (SELECT count(*) - count(DISTINCT o_orderkey) FROM orders) + (SELECT count(*) - count(DISTINCT (l_orderkey, l_linenumber)) FROM lineitem)
			+ (SELECT count(*) - count(DISTINCT (ps_partkey, ps_suppkey)) FROM partsupp) + (SELECT count(*) - count(DISTINCT c_custkey) FROM customer)
			+ (SELECT count(*) - count(DISTINCT p_partkey) FROM part) + (SELECT count(*) - count(DISTINCT s_suppkey) FROM supplier)
			+ (SELECT count(*) - count(DISTINCT n_nationkey) FROM nation)`,
		"nation in region":          "FROM nation ANTI JOIN region ON n_regionkey = r_regionkey SELECT count(*)",
		"supplier in nation":        "FROM supplier ANTI JOIN nation ON s_nationkey = n_nationkey SELECT count(*)",
		"customer in nation":        "FROM customer ANTI JOIN nation ON c_nationkey = n_nationkey SELECT count(*)",
		"partsupp of part":          "FROM partsupp ANTI JOIN part ON ps_partkey = p_partkey SELECT count(*)",
		"partsupp of supplier":      "FROM partsupp ANTI JOIN supplier ON ps_suppkey = s_suppkey SELECT count(*)",
		"order of customer":         "FROM orders ANTI JOIN customer ON o_custkey = c_custkey SELECT count(*)",
		"line of order":             "FROM lineitem ANTI JOIN orders ON l_orderkey = o_orderkey SELECT count(*)",
		"order with lines":          "FROM orders ANTI JOIN lineitem ON l_orderkey = o_orderkey SELECT count(*)",
		"line of partsupp":          "FROM lineitem ANTI JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey SELECT count(*)",
		"four suppliers a part":     "FROM (SELECT ps_partkey FROM partsupp GROUP BY 1 HAVING count(DISTINCT ps_suppkey) <> 4) SELECT count(*)",
		"lines numbered from 1":     "FROM (SELECT l_orderkey FROM lineitem GROUP BY 1 HAVING max(l_linenumber) <> count(*) OR min(l_linenumber) <> 1 OR count(*) > 7) SELECT count(*)",
		"sparse order keys":         "FROM orders SELECT count(*) FILTER (o_orderkey % 32 >= 8)",
		"every third has no orders": "FROM orders SELECT count(*) FILTER (o_custkey % 3 = 0)",
		"order dates":               "FROM orders SELECT count(*) FILTER (o_orderdate NOT BETWEEN '1992-01-01' AND '1998-08-02')",
		"total price": `FROM (SELECT l_orderkey, round(sum(l_extendedprice * (1 + l_tax) * (1 - l_discount)), 2) AS total FROM lineitem GROUP BY 1)
			JOIN orders ON l_orderkey = o_orderkey SELECT count(*) FILTER (o_totalprice <> total)`,
		"order status": `FROM (SELECT l_orderkey, CASE WHEN min(l_linestatus) = max(l_linestatus) THEN min(l_linestatus) ELSE 'P' END AS status FROM lineitem GROUP BY 1)
			JOIN orders ON l_orderkey = o_orderkey SELECT count(*) FILTER (o_orderstatus <> status)`,
		"line dates": `FROM lineitem JOIN orders ON l_orderkey = o_orderkey SELECT count(*) FILTER (l_shipdate - o_orderdate NOT BETWEEN 1 AND 121
			OR l_commitdate - o_orderdate NOT BETWEEN 30 AND 90 OR l_receiptdate - l_shipdate NOT BETWEEN 1 AND 30)`,
		"line status":     "FROM lineitem SELECT count(*) FILTER ((l_linestatus = 'O') <> (l_shipdate > '1995-06-17') OR l_linestatus NOT IN ('O', 'F'))",
		"return flag":     "FROM lineitem SELECT count(*) FILTER ((l_returnflag = 'N') <> (l_receiptdate > '1995-06-17') OR l_returnflag NOT IN ('N', 'A', 'R'))",
		"retail price":    "FROM part SELECT count(*) FILTER (p_retailprice <> (90000 + (p_partkey // 10) % 20001 + 100 * (p_partkey % 1000)) / 100)",
		"extended price":  "FROM lineitem JOIN part ON l_partkey = p_partkey SELECT count(*) FILTER (l_extendedprice <> l_quantity * p_retailprice)",
		"line ranges":     "FROM lineitem SELECT count(*) FILTER (l_quantity NOT BETWEEN 1 AND 50 OR l_discount NOT BETWEEN 0 AND 0.10 OR l_tax NOT BETWEEN 0 AND 0.08)",
		"partsupp ranges": "FROM partsupp SELECT count(*) FILTER (ps_availqty NOT BETWEEN 1 AND 9999 OR ps_supplycost NOT BETWEEN 1 AND 1000)",
		"balances": `SELECT (FROM customer SELECT count(*) FILTER (c_acctbal NOT BETWEEN -999.99 AND 9999.99))
			+ (FROM supplier SELECT count(*) FILTER (s_acctbal NOT BETWEEN -999.99 AND 9999.99))`,
		"phones": `SELECT (FROM customer SELECT count(*) FILTER (NOT regexp_full_match(c_phone, (10 + c_nationkey) || '-[1-9]\d\d-[1-9]\d\d-[1-9]\d\d\d')))
			+ (FROM supplier SELECT count(*) FILTER (NOT regexp_full_match(s_phone, (10 + s_nationkey) || '-[1-9]\d\d-[1-9]\d\d-[1-9]\d\d\d')))`,
		"brand of maker": "FROM part SELECT count(*) FILTER (p_brand[7] <> p_mfgr[14] OR NOT regexp_full_match(p_brand, 'Brand#[1-5][1-5]'))",
		"part names":     "FROM part SELECT count(*) FILTER (len(list_distinct(string_split(p_name, ' '))) <> 5)",
		"widths": `SELECT (FROM lineitem SELECT count(*) FILTER (length(l_comment) NOT BETWEEN 10 AND 43)) + (FROM orders SELECT count(*) FILTER (length(o_comment) NOT BETWEEN 19 AND 78))
			+ (FROM customer SELECT count(*) FILTER (length(c_comment) NOT BETWEEN 29 AND 116 OR length(c_address) NOT BETWEEN 10 AND 40))
			+ (FROM supplier SELECT count(*) FILTER (length(s_comment) NOT BETWEEN 25 AND 100 OR length(s_address) NOT BETWEEN 10 AND 40))
			+ (FROM part SELECT count(*) FILTER (length(p_comment) NOT BETWEEN 5 AND 22 OR length(p_name) > 55)) + (FROM partsupp SELECT count(*) FILTER (length(ps_comment) NOT BETWEEN 49 AND 198))
			+ (FROM nation SELECT count(*) FILTER (length(n_comment) NOT BETWEEN 31 AND 114)) + (FROM region SELECT count(*) FILTER (length(r_comment) NOT BETWEEN 31 AND 115))`,
	} {
		require.Equal(t, "0", text(t, conn, "SELECT CAST(("+breaches+") AS VARCHAR)"), rule)
	}
}

func testDistributions(t *testing.T, conn *duckdb.Conn) {
	for want, query := range map[string]string{
		"brands 25":              "FROM part SELECT 'brands ' || count(DISTINCT p_brand)",
		"types 150":              "FROM part SELECT 'types ' || count(DISTINCT p_type)",
		"containers 40":          "FROM part SELECT 'containers ' || count(DISTINCT p_container)",
		"sizes 1 to 50":          "FROM part SELECT 'sizes ' || min(p_size) || ' to ' || max(p_size)",
		"segments 5":             "FROM customer SELECT 'segments ' || count(DISTINCT c_mktsegment)",
		"modes 7":                "FROM lineitem SELECT 'modes ' || count(DISTINCT l_shipmode)",
		"instructions 4":         "FROM lineitem SELECT 'instructions ' || count(DISTINCT l_shipinstruct)",
		"priorities 5":           "FROM orders SELECT 'priorities ' || count(DISTINCT o_orderpriority)",
		"clerks 10":              "FROM orders SELECT 'clerks ' || count(DISTINCT o_clerk)",
		"first words 92":         "FROM part SELECT 'first words ' || count(DISTINCT string_split(p_name, ' ')[1])",
		"days 2400 or more":      "FROM orders SELECT 'days ' || CASE WHEN count(DISTINCT o_orderdate) BETWEEN 2400 AND 2406 THEN '2400 or more' END",
		"special requests 1.0 %": "FROM orders SELECT 'special requests ' || round(100 * count(*) FILTER (o_comment LIKE '%special%requests%') / count(*)) || ' %'",
		// The columns are drawn independently of each other.
		"quantity and discount 0":   "FROM lineitem SELECT 'quantity and discount ' || abs(round(corr(l_quantity, l_discount), 1))::INT",
		"part and quantity 0":       "FROM lineitem SELECT 'part and quantity ' || abs(round(corr(l_partkey, l_quantity), 1))::INT",
		"line combinations 28":      "FROM lineitem SELECT 'line combinations ' || count(DISTINCT (l_shipmode, l_shipinstruct))",
		"customer combinations 125": "FROM customer SELECT 'customer combinations ' || count(DISTINCT (c_nationkey, c_mktsegment))",
	} {
		require.Equal(t, want, text(t, conn, query), query)
	}
	// No value of a uniform column is more than a fifth off its share.
	for _, column := range []string{"l_shipmode", "l_shipinstruct", "l_quantity", "l_discount", "l_tax"} {
		query := fmt.Sprintf("FROM (SELECT count(*) AS n FROM lineitem GROUP BY %s) SELECT (max(n) < 1.2 * avg(n) AND min(n) > 0.8 * avg(n))::VARCHAR", column)
		require.Equal(t, "true", text(t, conn, query), column)
	}
	// At scale factor 1 there are 5 complaints; here only the rate can be seen, over the range that scale factor 10 has.
	complaints := "WITH s AS (" + TableByName("supplier").sel(generator{10}, 1, 100_001) + `) SELECT (count(*) FILTER (s_comment LIKE '%Customer%Complaints%') BETWEEN 20 AND 90
		AND count(*) FILTER (s_comment LIKE '%Customer%Recommends%') BETWEEN 20 AND 90 AND max(length(s_comment)) <= 100)::VARCHAR FROM s`
	require.Equal(t, "true", text(t, conn, complaints))
}

// The chunks of a table are the table, whatever their number.
func TestChunks(t *testing.T) {
	conn := load(t, 0.001)
	for _, table := range Tables() {
		for _, chunks := range []int{2, 3} {
			pieces := make([]string, chunks)
			for i := range pieces {
				pieces[i] = SelectSQL(table.Name, 0.001, i, chunks)
			}
			union := "(" + strings.Join(pieces, " UNION ALL ") + ")"
			query := fmt.Sprintf("SELECT ((SELECT count(*) FROM (FROM %[1]s EXCEPT ALL %[2]s)) + (SELECT count(*) FROM (%[2]s EXCEPT ALL FROM %[1]s)))::VARCHAR", table.Name, union)
			require.Equal(t, "0", text(t, conn, query), "%s in %d", table.Name, chunks)
		}
	}
	require.Equal(t, 1, TableByName("nation").Chunks(100, 10))
	require.Equal(t, 6, TableByName("lineitem").Chunks(1, 1_000_000))
}

// The data never changes. When DuckDB's hash() does, with an upgrade, these values are to be replaced.
func testDeterminism(t *testing.T, conn *duckdb.Conn) {
	got := map[string]string{}
	for _, table := range Tables() {
		got[table.Name] = text(t, conn, fmt.Sprintf("SELECT md5(string_agg(x::VARCHAR, '|' ORDER BY x::VARCHAR)) FROM %s AS x", table.Name))
	}
	require.Equal(t, map[string]string{
		"region": "fb0a948de6f20c6ff77a77bc861d2277", "nation": "dbb2effcfcb25f11afa6bca70b373a8f",
		"supplier": "f54d559abbb253cdaf83e4d828271d61", "part": "2dd41067ab223c8ca2de1893dc9a1474",
		"partsupp": "3db53e0587298ab6d8983c528e4db189", "customer": "ceadce24846023a62bf3e53ef74a82d9",
		"orders": "fd7bd5512ce69b58a57fec3ecd5adf1f", "lineitem": "e155ebf856300b6eb82c2b8d9b0d8073",
	}, got)
}

func testQueries(t *testing.T, conn *duckdb.Conn) {
	for n := 1; n <= Queries; n++ {
		rows, err := conn.Rows(context.Background(), Query(n))
		require.NoError(t, err, "q%02d", n)
		require.NotEmpty(t, rows, "q%02d", n)
		for _, value := range rows[0] {
			require.NotNil(t, value, "q%02d", n)
		}
		statement, err := sql.Parse(Query(n))
		require.NoError(t, err, "q%02d", n)
		require.IsType(t, &sql.Query{}, statement)
	}
}

// Serac's front end reads the statements as what they are.
func TestStatementsParse(t *testing.T) {
	for _, table := range Tables() {
		created, err := sql.Parse(table.CreateSQL("c.s." + table.Name))
		require.NoError(t, err)
		require.Len(t, created.(*sql.CreateTable).Columns, len(table.Columns))
		if table.PartitionedBy != "" {
			created, err = sql.Parse(table.CreateSQL(table.Name) + " PARTITIONED BY (" + table.PartitionedBy + ")")
			require.NoError(t, err)
			require.Len(t, created.(*sql.CreateTable).PartitionedBy, 1)
		}
		inserted, err := sql.Parse(InsertSQL(table.Name, table.Name, 1, 1, 3))
		require.NoError(t, err)
		require.Equal(t, sql.Name{table.Name}, inserted.(*sql.Insert).Table)
		require.Equal(t, SelectSQL(table.Name, 1, 1, 3), inserted.(*sql.Insert).Query)
	}
	require.Contains(t, TableByName("nation").DDL(), "n_name VARCHAR NOT NULL, n_regionkey INTEGER NOT NULL, n_comment VARCHAR)")
}

func TestWordLists(t *testing.T) {
	require.Len(t, colours, 92)
	require.Len(t, nations, 25)
	for name, words := range map[string][]string{"adjectives": adjectives, "nouns": nouns, "verbs": verbs, "adverbs": adverbs, "prepositions": prepositions} {
		require.Len(t, words, 64, name)
	}
}
