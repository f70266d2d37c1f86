//go:build deps

package serac

import (
	_ "github.com/BurntSushi/toml"
	_ "github.com/apache/arrow-adbc/go/adbc/validation"
	_ "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	_ "github.com/apache/iceberg-go/catalog/hadoop"
	_ "github.com/apache/iceberg-go/catalog/rest"
	_ "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/apache/iceberg-go/io/gocloud"
	_ "github.com/apache/iceberg-go/table"
	_ "github.com/chzyer/readline"
	_ "github.com/cockroachdb/datadriven"
	_ "github.com/duckdb/duckdb-go/v2"
	_ "github.com/google/uuid"
	_ "github.com/hashicorp/golang-lru/v2"
	_ "github.com/johannesboyne/gofakes3"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/require"
	_ "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	_ "github.com/twmb/murmur3"
	_ "github.com/uptrace/bun"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "google.golang.org/grpc"
	_ "google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite"
)
