// Package bench measures Serac beside DuckDB alone, in one run on the same files with the same threads, and prints
// ratios. Nothing here asserts a time: machines are noisy. Run it with `make bench`; -sf sets the scale factor of TPC-H,
// -hits the rows of the ClickBench-like table. docs/benchmarks.md has what came of it, and the commands.
//
//	table.go        the table of ratios
//	data_test.go    data loaded through Flight SQL
//	*_test.go       a benchmark each
//	engines.py      other engines on the same files
package bench
