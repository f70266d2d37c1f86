package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// parametersPlan is SELECT i, name, price * $2 FROM p WHERE i >= $0 AND name = $1, Substrait counting from 0.
const parametersPlan = `{
  "extensionUrns": [
    {"extensionUrnAnchor": 1, "urn": "extension:io.substrait:functions_comparison"},
    {"extensionUrnAnchor": 2, "urn": "extension:io.substrait:functions_boolean"},
    {"extensionUrnAnchor": 3, "urn": "extension:io.substrait:functions_arithmetic"}
  ],
  "extensions": [
    {"extensionFunction": {"extensionUrnReference": 1, "functionAnchor": 1, "name": "gte:any_any"}},
    {"extensionFunction": {"extensionUrnReference": 1, "functionAnchor": 2, "name": "equal:any_any"}},
    {"extensionFunction": {"extensionUrnReference": 2, "functionAnchor": 3, "name": "and:bool"}},
    {"extensionFunction": {"extensionUrnReference": 3, "functionAnchor": 4, "name": "multiply:fp64_fp64"}}
  ],
  "relations": [{"root": {"names": ["i", "name", "times"], "input": {"project": {
    "common": {"emit": {"outputMapping": [3, 4, 5]}},
    "input": {"filter": {
      "input": {"read": {
        "baseSchema": {"names": ["i", "name", "price"], "struct": {"types": [{"i64": {}}, {"string": {}}, {"fp64": {}}]}},
        "namedTable": {"names": ["s", "p"]}
      }},
      "condition": {"scalarFunction": {"functionReference": 3, "outputType": {"bool": {}}, "arguments": [
        {"value": {"scalarFunction": {"functionReference": 1, "outputType": {"bool": {}}, "arguments": [
          {"value": {"selection": {"directReference": {"structField": {"field": 0}}, "rootReference": {}}}},
          {"value": {"dynamicParameter": {"type": {"i64": {}}, "parameterReference": 0}}}]}}},
        {"value": {"scalarFunction": {"functionReference": 2, "outputType": {"bool": {}}, "arguments": [
          {"value": {"selection": {"directReference": {"structField": {"field": 1}}, "rootReference": {}}}},
          {"value": {"dynamicParameter": {"type": {"string": {}}, "parameterReference": 1}}}]}}}
      ]}}
    }},
    "expressions": [
      {"selection": {"directReference": {"structField": {"field": 0}}, "rootReference": {}}},
      {"selection": {"directReference": {"structField": {"field": 1}}, "rootReference": {}}},
      {"scalarFunction": {"functionReference": 4, "outputType": {"fp64": {}}, "arguments": [
        {"value": {"selection": {"directReference": {"structField": {"field": 2}}, "rootReference": {}}}},
        {"value": {"dynamicParameter": {"type": {"fp64": {}}, "parameterReference": 2}}}]}}
    ]
  }}}}]
}`

// TestSubstraitParameters prepares a plan with dynamic parameters and runs it with values bound to them, one after the other.
func TestSubstraitParameters(t *testing.T) {
	ctx := context.Background()
	dataDir := t.TempDir()
	client := process.Serve(t, dataDir).Connect(t)
	client.Query("CREATE SCHEMA s")
	client.Query("CREATE TABLE s.p AS SELECT i, CASE i % 3 WHEN 0 THEN 'it''s' WHEN 1 THEN 'one' END AS name, i / 4 AS price FROM range(30) r(i)")
	db := reference.Open(t, openCatalog(t, dataDir), "s", 2)

	plan := &substraitpb.Plan{}
	require.NoError(t, protojson.Unmarshal([]byte(parametersPlan), plan))
	b, err := proto.Marshal(plan)
	require.NoError(t, err)
	prepared, err := client.PrepareSubstrait(ctx, flightsql.SubstraitPlan{Plan: b})
	require.NoError(t, err)
	defer func() { require.NoError(t, prepared.Close(ctx)) }()
	var types []arrow.Type
	for _, f := range prepared.ParameterSchema().Fields() {
		types = append(types, f.Type.ID())
	}
	require.Equal(t, []arrow.Type{arrow.INT64, arrow.STRING, arrow.FLOAT64}, types, "the types in the plan")
	_, err = prepared.Execute(ctx)
	require.ErrorContains(t, err, "3 parameters")

	bind := func(schema *arrow.Schema, row string) {
		t.Helper()
		values, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+row+"]"))
		require.NoError(t, err)
		defer values.Release()
		prepared.SetParameters(values)
	}
	run := func() (*compare.Result, error) {
		info, err := prepared.Execute(ctx)
		if err != nil {
			return nil, err
		}
		reader, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
		if err != nil {
			return nil, err
		}
		defer reader.Release()
		got := compare.New(reader.Schema())
		for reader.Next() {
			got.Add(reader.RecordBatch())
		}
		return got, reader.Err()
	}
	for _, c := range []struct {
		row, query string
		rows       int
	}{
		{`{"$1": 10, "$2": "it's", "$3": 0.5}`, "SELECT i, name, price * 0.5::DOUBLE AS times FROM p WHERE i >= 10 AND name = 'it''s'", 6},
		{`{"$1": 20, "$2": "one", "$3": null}`, "SELECT i, name, NULL::DOUBLE AS times FROM p WHERE i >= 20 AND name = 'one'", 3},
		{`{"$1": 0, "$2": null, "$3": 1}`, "SELECT i, name, price AS times FROM p WHERE false", 0},
	} {
		bind(prepared.ParameterSchema(), c.row)
		got, err := run()
		require.NoError(t, err, c.row)
		require.Len(t, got.Rows, c.rows)
		require.Empty(t, compare.Diff(db.Query(c.query), got), c.row)
	}
	// Values of other types are cast to those in the plan, where they can be.
	text := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.BinaryTypes.String}, {Name: "c", Type: arrow.PrimitiveTypes.Int8},
	}, nil)
	bind(text, `{"a": "27", "b": "it's", "c": 2}`)
	got, err := run()
	require.NoError(t, err)
	require.Empty(t, compare.Diff(db.Query("SELECT i, name, price * 2 AS times FROM p WHERE i = 27"), got))
	bind(text, `{"a": "many", "b": "it's", "c": 2}`)
	_, err = run()
	require.ErrorContains(t, err, "many")
}
