// Package bench measures Serac beside DuckDB alone, in one run on the same files with the same threads, and prints
// ratios. Nothing here asserts a time: machines are noisy. Run it with `make bench`; -sf sets the scale factor of TPC-H,
// -hits the rows of the ClickBench-like table, -tpcds the directory that tpcds.py has filled. docs/benchmarks.md has what came of it, and the commands.
//
//	table_test.go   the table of ratios
//	data_test.go    data loaded through Flight SQL
//	*_test.go       a benchmark each
//	engines.py      other engines on the same files
//	tpcds.py        the data and queries of TPC-DS
package bench
