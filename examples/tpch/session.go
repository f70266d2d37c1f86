package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// session is a Flight SQL connection. Its cookie keeps USE and SET in force from one call to the next.
type session struct{ *flightsql.Client }

func connect(ctx context.Context, address string) (*session, error) {
	client, err := flightsql.NewClientCtx(ctx, address, nil, []flight.ClientMiddleware{flight.NewClientCookieMiddleware()},
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return &session{client}, nil
}

// update runs a statement that returns a number of rows.
func (s *session) update(ctx context.Context, sql string) (int64, error) {
	n, err := s.ExecuteUpdate(ctx, sql)
	if err != nil {
		return 0, fmt.Errorf("%.60s: %w", sql, err)
	}
	return n, nil
}

// table is a result as text.
type table struct {
	names []string
	rows  [][]string
}

func (s *session) query(ctx context.Context, sql string) (*table, error) {
	info, err := s.Execute(ctx, sql)
	if err != nil {
		return nil, err
	}
	reader, err := s.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	t := &table{}
	for _, f := range reader.Schema().Fields() {
		t.names = append(t.names, f.Name)
	}
	for reader.Next() {
		batch := reader.RecordBatch()
		for i := range int(batch.NumRows()) {
			row := make([]string, batch.NumCols())
			for c := range row {
				row[c] = batch.Column(c).ValueStr(i)
			}
			t.rows = append(t.rows, row)
		}
	}
	return t, reader.Err()
}

// print shows the first rows, numbers to the right.
func (t *table) print(out io.Writer, most int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string) {
		for _, c := range cells {
			if _, err := strconv.ParseFloat(c, 64); err == nil && len(c) > 12 {
				c = c[:min(len(c), 18)]
			}
			fmt.Fprint(w, c, "\t")
		}
		fmt.Fprintln(w)
	}
	line(t.names)
	for _, row := range t.rows[:min(most, len(t.rows))] {
		line(row)
	}
	_ = w.Flush()
	if len(t.rows) > most {
		fmt.Fprintf(out, "  ... and %d more\n", len(t.rows)-most)
	}
}
