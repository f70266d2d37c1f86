// Command tpch shows Serac at work on one machine: it starts a scheduler and two executors, has the executors make and
// load TPC-H-like tables, runs four queries distributed over them, and stops everything.
//
// It is also an example of a client: all it does with the system goes through Flight SQL.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/seracdb/serac/tests/tpch"
)

func main() {
	binary := flag.String("serac", "bin/serac", "the serac binary")
	scale := flag.Float64("sf", 0.1, "scale factor of the data")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *binary, *scale); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, binary string, scale float64) error {
	dataDir, err := os.MkdirTemp("", "serac-tpch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dataDir)
	fmt.Fprintln(out, "Starting a scheduler and two executors on loopback ...")
	c, err := startCluster(ctx, binary, dataDir, 2)
	if err != nil {
		return err
	}
	defer c.stop()
	session, err := connect(ctx, c.address)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := load(ctx, out, session, scale); err != nil {
		return err
	}
	for _, n := range []int{1, 3, 5, 18} {
		if err := show(ctx, out, session, n); err != nil {
			return fmt.Errorf("query %d: %w", n, err)
		}
	}
	fmt.Fprint(out, `
Stopping. To go on with data that stays:
  bin/serac serve                       one process: scheduler, executor and catalog, in ./serac-data
  bin/serac sql                         a client, in another terminal
  bin/serac sql -c "SHOW SCHEMAS"
`)
	return nil
}

// load makes the tables and has the executors fill them.
func load(ctx context.Context, out io.Writer, s *session, scale float64) error {
	fmt.Fprintf(out, "Loading TPC-H-like tables at scale factor %v with INSERT INTO ... SELECT ...\n", scale)
	start := time.Now()
	var rows int64
	for _, sql := range []string{"CREATE SCHEMA tpch", "USE tpch"} {
		if _, err := s.update(ctx, sql); err != nil {
			return err
		}
	}
	for _, t := range tpch.Tables() {
		if _, err := s.update(ctx, t.CreateSQL(t.Name)); err != nil {
			return err
		}
		// Two chunks of the large tables make two files, one for each executor to read.
		chunks := 1
		if t.Name == "lineitem" || t.Name == "orders" {
			chunks = 2
		}
		for i := range chunks {
			n, err := s.update(ctx, tpch.InsertSQL(t.Name, t.Name, scale, i, chunks))
			if err != nil {
				return fmt.Errorf("load %s: %w", t.Name, err)
			}
			rows += n
		}
	}
	fmt.Fprintf(out, "Loaded %d rows in %s\n", rows, time.Since(start).Round(time.Millisecond))
	// The data is small, so distribution is asked for.
	for _, sql := range []string{"SET distribution_threshold = '0B'", "SET target_task_size = '256KB'"} {
		if _, err := s.update(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// show runs a query and prints its result, its time, and its stages.
func show(ctx context.Context, out io.Writer, s *session, n int) error {
	start := time.Now()
	result, err := s.query(ctx, tpch.Query(n))
	if err != nil {
		return err
	}
	took := time.Since(start)
	fmt.Fprintf(out, "\nTPC-H query %d: %d rows in %s\n\n", n, len(result.rows), took.Round(100*time.Microsecond))
	result.print(out, 10)
	explained, err := s.query(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+tpch.Query(n))
	if err != nil {
		return err
	}
	var analysis struct {
		Stages []struct {
			ID     int
			Output string
			Tasks  int
			Actual struct{ InputRows, OutputRows, OutputBytes, ShuffleFetchedBytes int64 }
		}
	}
	if err := json.Unmarshal([]byte(explained.rows[0][0]), &analysis); err != nil {
		return fmt.Errorf("read EXPLAIN's answer: %w", err)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nstage\ttasks\trows read\trows out\tbytes shuffled\t  output\t")
	for _, st := range analysis.Stages {
		shuffled := "-"
		if !strings.HasPrefix(st.Output, "result") {
			shuffled = fmt.Sprint(st.Actual.OutputBytes)
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%s\t  %s\t\n", st.ID, st.Tasks, st.Actual.InputRows, st.Actual.OutputRows, shuffled, st.Output)
	}
	return w.Flush()
}
