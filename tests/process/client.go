package process

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seracdb/serac/tests/compare"
)

// field is the value of key=value in a log line, without a scheme.
func field(line, key string) string {
	_, rest, _ := strings.Cut(line, key+"=")
	value, _, _ := strings.Cut(rest, " ")
	return strings.TrimPrefix(strings.Trim(value, `"`), "grpc://")
}

// Client is one Flight SQL connection with its session.
type Client struct {
	tb testing.TB
	*flightsql.Client
}

// Connect opens a connection, closed when the test ends.
func (c *Cluster) Connect(tb testing.TB) *Client {
	tb.Helper()
	client, err := flightsql.NewClient(c.Address, nil, []flight.ClientMiddleware{flight.NewClientCookieMiddleware()},
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return &Client{tb: tb, Client: client}
}

// Run runs a statement and reads all of its rows.
func (c *Client) Run(ctx context.Context, sql string) (*compare.Result, error) {
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return nil, err
	}
	return c.fetch(ctx, info)
}

// RunSubstrait runs a serialised Substrait plan and reads all of its rows.
func (c *Client) RunSubstrait(ctx context.Context, plan []byte) (*compare.Result, error) {
	info, err := c.ExecuteSubstrait(ctx, flightsql.SubstraitPlan{Plan: plan})
	if err != nil {
		return nil, err
	}
	return c.fetch(ctx, info)
}

func (c *Client) fetch(ctx context.Context, info *flight.FlightInfo) (*compare.Result, error) {
	if len(info.Endpoint) != 1 {
		return nil, fmt.Errorf("%d endpoints, want 1", len(info.Endpoint))
	}
	reader, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	result := compare.New(reader.Schema())
	for reader.Next() {
		result.Add(reader.RecordBatch())
	}
	return result, reader.Err()
}

// Query runs a statement that must not fail.
func (c *Client) Query(sql string) *compare.Result {
	c.tb.Helper()
	result, err := c.Run(context.Background(), sql)
	if err != nil {
		c.tb.Fatalf("%s: %v", firstLine(sql), err)
	}
	return result
}

// Value runs a statement with one row of one column and gives its text.
func (c *Client) Value(sql string) string {
	c.tb.Helper()
	result := c.Query(sql)
	if len(result.Rows) != 1 || len(result.Rows[0]) != 1 {
		c.tb.Fatalf("%s: want one value, got %d rows", firstLine(sql), len(result.Rows))
	}
	return result.Rows[0][0].String()
}

func firstLine(sql string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	if rest != "" {
		line += " ..."
	}
	return line
}
