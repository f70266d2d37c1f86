package flightsql

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// sqlInfo is what GetSqlInfo tells of the server. The values' types are those that arrow-go's server writes.
func sqlInfo(version string) map[flightsql.SqlInfo]any {
	return map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName:                "Serac",
		flightsql.SqlInfoFlightSqlServerVersion:             version,
		flightsql.SqlInfoFlightSqlServerArrowVersion:        arrow.PkgVersion,
		flightsql.SqlInfoFlightSqlServerReadOnly:            false,
		flightsql.SqlInfoFlightSqlServerSql:                 true,
		flightsql.SqlInfoFlightSqlServerSubstrait:           true,
		flightsql.SqlInfoFlightSqlServerSubstraitMinVersion: "0.20.0",
		flightsql.SqlInfoFlightSqlServerSubstraitMaxVersion: "0.85.0",
		flightsql.SqlInfoFlightSqlServerTransaction:         int32(flightsql.SqlTransactionNone),
		flightsql.SqlInfoFlightSqlServerCancel:              true,
		flightsql.SqlInfoFlightSqlServerBulkIngestion:       false,
		flightsql.SqlInfoFlightSqlServerStatementTimeout:    int32(0),
		flightsql.SqlInfoFlightSqlServerTransactionTimeout:  int32(0),

		flightsql.SqlInfoDDLCatalog:                    false,
		flightsql.SqlInfoDDLSchema:                     true,
		flightsql.SqlInfoDDLTable:                      true,
		flightsql.SqlInfoIdentifierCase:                int64(flightsql.SqlCaseSensitivityCaseInsensitive),
		flightsql.SqlInfoIdentifierQuoteChar:           `"`,
		flightsql.SqlInfoQuotedIdentifierCase:          int64(flightsql.SqlCaseSensitivityCaseInsensitive),
		flightsql.SqlInfoAllTablesAreASelectable:       true,
		flightsql.SqlInfoNullOrdering:                  int64(flightsql.SqlNullOrderingSortAtEnd),
		flightsql.SqlInfoSearchStringEscape:            `\`,
		flightsql.SqlInfoExtraNameChars:                "",
		flightsql.SqlInfoKeywords:                      []string{"ASOF", "ANTI", "POSITIONAL", "QUALIFY", "PIVOT", "SEMI", "UNPIVOT"},
		flightsql.SqlInfoNumericFunctions:              []string{"ABS", "CEILING", "EXP", "FLOOR", "LN", "LOG10", "MOD", "POWER", "ROUND", "SIGN", "SQRT", "TRUNC"},
		flightsql.SqlInfoStringFunctions:               []string{"CONCAT", "LENGTH", "LOWER", "LTRIM", "REPLACE", "RTRIM", "SUBSTRING", "TRIM", "UPPER"},
		flightsql.SqlInfoSystemFunctions:               []string{"CURRENT_CATALOG", "CURRENT_SCHEMA", "CURRENT_USER"},
		flightsql.SqlInfoDateTimeFunctions:             []string{"CURRENT_DATE", "DATE_DIFF", "DATE_TRUNC", "EXTRACT", "NOW"},
		flightsql.SqlInfoSupportsColumnAliasing:        true,
		flightsql.SqlInfoNullPlusNullIsNull:            true,
		flightsql.SqlInfoSupportsExpressionsInOrderBy:  true,
		flightsql.SqlInfoSupportsOrderByUnrelated:      true,
		flightsql.SqlInfoSupportsLikeEscapeClause:      true,
		flightsql.SqlInfoSupportsNonNullableColumns:    true,
		flightsql.SqlInfoSupportsTableCorrelationNames: true,
		flightsql.SqlInfoSchemaTerm:                    "schema",
		flightsql.SqlInfoCatalogTerm:                   "catalog",
		flightsql.SqlInfoProcedureTerm:                 "procedure",
		flightsql.SqlInfoCatalogAtStart:                true,
		flightsql.SqlInfoSelectForUpdateSupported:      false,
		flightsql.SqlInfoStoredProceduresSupported:     false,
		flightsql.SqlInfoCorrelatedSubqueriesSupported: true,
		flightsql.SqlInfoTransactionsSupported:         false,
		flightsql.SqlInfoBatchUpdatesSupported:         true,
		flightsql.SqlInfoSavePointsSupported:           false,
		flightsql.SqlInfoNamedParametersSupported:      false,
	}
}

func (f *frontDoor) registerSQLInfo() {
	for id, value := range sqlInfo(f.s.o.Version) {
		if err := f.RegisterSqlInfo(id, value); err != nil {
			panic(err) // A value of a type that Flight SQL has no place for: a mistake in the table above.
		}
	}
}

// infoList is a list of ids as a GetSqlInfo.
type infoList []uint32

// GetInfo returns the ids.
func (l infoList) GetInfo() []uint32 { return l }

// DoGetSqlInfo tells what was asked for, or everything when nothing was. Unlike the base's, it leaves out what it does not
// know instead of failing: drivers ask for long fixed lists.
func (f *frontDoor) DoGetSqlInfo(ctx context.Context, cmd flightsql.GetSqlInfo) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	known := sqlInfo(f.s.o.Version)
	var ids infoList
	if asked := cmd.GetInfo(); len(asked) > 0 {
		for _, id := range asked {
			if _, ok := known[flightsql.SqlInfo(id)]; ok {
				ids = append(ids, id)
			}
		}
	} else {
		for _, id := range slices.Sorted(maps.Keys(known)) {
			ids = append(ids, uint32(id))
		}
	}
	if len(ids) == 0 {
		b := array.NewRecordBuilder(alloc, schema_ref.SqlInfo)
		defer b.Release()
		return streamOf(ctx, b.NewRecordBatch())
	}
	return f.BaseServer.DoGetSqlInfo(ctx, ids)
}
