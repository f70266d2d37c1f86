package client

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func sample() arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "a text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 20000, 0, 4}, []bool{true, true, false, true})
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"x, \"y\"", "日本", "", "NULL"}, []bool{true, true, false, true})
	b.Field(1).(*array.StringBuilder).Append("tab\tline\nback\\ \x1b[31m")
	b.Field(0).AppendNull()
	b.Field(2).(*array.Float64Builder).AppendValues([]float64{1, 2.5, 0, 4, 5}, []bool{true, true, false, true, true})
	b.Field(0).(*array.Int64Builder).Append(6)
	b.Field(1).(*array.StringBuilder).Append("")
	b.Field(2).AppendNull()
	return b.NewRecordBatch()
}

func printed(t *testing.T, f Format, style tableStyle, batches ...arrow.RecordBatch) string {
	var out strings.Builder
	p := newPrinter(f, &out, batches[0].Schema(), style)
	for _, b := range batches {
		require.NoError(t, p.batch(b))
	}
	require.NoError(t, p.end())
	return out.String()
}

func TestTable(t *testing.T) {
	got := printed(t, Table, tableStyle{}, sample())
	want := strings.Join([]string{
		"   n   |          a text           |  n",
		"-------+---------------------------+------",
		"     1 | x, \"y\"                    |  1.0",
		" 20000 | 日本                      |  2.5",
		"  NULL | NULL                      | NULL",
		"     4 | \"NULL\"                    |  4.0",
		"  NULL | tab\\tline\\nback\\ \\x1b[31m |  5.0",
		"     6 |                           | NULL",
	}, "\n") + "\n"
	require.Equal(t, want, got)
	require.Contains(t, printed(t, Table, tableStyle{color: true}, sample()), dim+"NULL"+reset)

	empty := sample().NewSlice(0, 0)
	require.Equal(t, " n | a text | n\n---+--------+---\n", printed(t, Table, tableStyle{}, empty))
}

// A table streams: rows beyond the sample do not wait for the end.
func TestTableStreams(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range sampleRows + 1 {
		b.Field(0).(*array.Int64Builder).Append(int64(i) * 1_000_000)
	}
	var out strings.Builder
	p := newPrinter(Table, &out, schema, tableStyle{})
	require.NoError(t, p.batch(b.NewRecordBatch()))
	require.Equal(t, sampleRows+1+2, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), fmt.Sprintf("\n %d\n", sampleRows*1_000_000), "a wider value than the sample's sticks out")
}

func TestPrograms(t *testing.T) {
	batch := sample()
	require.Equal(t, strings.Join([]string{
		`n,a text,n`,
		`1,"x, ""y""",1.0`,
		`20000,日本,2.5`,
		`,,`,
		`4,NULL,4.0`,
		",\"tab\tline\nback\\ \x1b[31m\",5.0",
		`6,"",`,
	}, "\n")+"\n", printed(t, CSV, tableStyle{}, batch))
	require.Equal(t, strings.Join([]string{
		"n\ta text\tn",
		"1\tx, \"y\"\t1.0",
		"20000\t日本\t2.5",
		"\\N\t\\N\t\\N",
		"4\tNULL\t4.0",
		"\\N\ttab\\tline\\nback\\\\ \x1b[31m\t5.0",
		"6\t\t\\N",
	}, "\n")+"\n", printed(t, TSV, tableStyle{}, batch))
	require.Equal(t, strings.Join([]string{
		`{"n":1,"a text":"x, \"y\"","n_2":1.0}`,
		`{"n":20000,"a text":"日本","n_2":2.5}`,
		`{"n":null,"a text":null,"n_2":null}`,
		`{"n":4,"a text":"NULL","n_2":4.0}`,
		`{"n":null,"a text":"tab\tline\nback\\ \u001b[31m","n_2":5.0}`,
		`{"n":6,"a text":"","n_2":null}`,
	}, "\n")+"\n", printed(t, JSON, tableStyle{}, batch))
	_, err := ParseFormat("xml")
	require.ErrorContains(t, err, "table, csv, tsv and json")
}

func TestProgressLine(t *testing.T) {
	p := &seracv1.StatementProgress{State: "running", Stages: 3, StagesDone: 1, Tasks: 10, TasksDone: 5, TasksRunning: 2, Rows: 1_500_000, Bytes: 20_000_000, ShuffledRows: 10, ShuffledBytes: 100, Retries: 1}
	require.Equal(t, "[==========          ]  stages 1/3  tasks 5/10 (2 running)  read 1.50M rows, 20.0MB  shuffled 10 rows, 100B  retries 1  2.5 s",
		progressText(p, 2500*time.Millisecond))
	require.Equal(t, "planning  0.1 s", progressText(&seracv1.StatementProgress{State: "planning"}, 100*time.Millisecond))

	var out strings.Builder
	l := &progressLine{w: &out, start: time.Now(), on: true}
	l.show(p)
	require.Empty(t, out.String(), "not in the first second")
	l.start = time.Now().Add(-2 * time.Second)
	l.show(p)
	require.True(t, strings.HasPrefix(out.String(), "\r\x1b[K[====="))
	l.stop()
	require.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"), "the line goes")
	n := out.Len()
	l.show(p)
	require.Equal(t, n, out.Len(), "and stays away")
}
