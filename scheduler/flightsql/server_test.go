package flightsql

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	_ "github.com/apache/arrow-go/v18/arrow/flight/flightsql/driver"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// serve runs a server over a fake engine and returns its address.
func serve(t *testing.T, o Options) (*fakeEngine, string) {
	t.Helper()
	e := newFakeEngine(t)
	s := New(e, o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		s.Shutdown(ctx)
		require.NoError(t, <-served)
	})
	return e, l.Addr().String()
}

func dial(t *testing.T, address string, middleware ...flight.ClientMiddleware) *flightsql.Client {
	t.Helper()
	c, err := flightsql.NewClient(address, nil, middleware, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// query runs a statement and returns its rows as text, values separated by |.
func query(t *testing.T, c *flightsql.Client, text string) []string {
	t.Helper()
	ctx := testContext(t)
	info, err := c.Execute(ctx, text)
	require.NoError(t, err)
	rows, err := fetch(ctx, c, info)
	require.NoError(t, err)
	return rows
}

func fetch(ctx context.Context, c *flightsql.Client, info *flight.FlightInfo) ([]string, error) {
	var rows []string
	for _, e := range info.Endpoint {
		r, err := c.DoGet(ctx, e.Ticket)
		if err != nil {
			return rows, err
		}
		defer r.Release()
		if want, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator); err != nil || !r.Schema().Equal(want) {
			return rows, fmt.Errorf("schema %v, announced %v", r.Schema(), want)
		}
		for r.Next() {
			batch := r.RecordBatch()
			for i := range int(batch.NumRows()) {
				values := make([]string, batch.NumCols())
				for j := range values {
					values[j] = batch.Column(j).ValueStr(i)
				}
				rows = append(rows, strings.Join(values, "|"))
			}
		}
		if err := r.Err(); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func TestQuery(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, query(t, c, "ROWS 3 2"))
	require.Empty(t, query(t, c, "ROWS 0"), "an empty result has its schema")

	info, err := c.Execute(testContext(t), "ROWS 1")
	require.NoError(t, err)
	require.Len(t, info.Endpoint, 1)
	require.Empty(t, info.Endpoint[0].Location, "no location: the same connection")
	require.EqualValues(t, -1, info.TotalRecords)
	_, err = fetch(testContext(t), c, info)
	require.NoError(t, err)
	_, err = fetch(testContext(t), c, info)
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "a ticket is good for one fetch")

	schema, err := c.GetExecuteSchema(testContext(t), "ROWS 1")
	require.NoError(t, err)
	got, err := flight.DeserializeSchema(schema.Schema, memory.DefaultAllocator)
	require.NoError(t, err)
	require.True(t, got.Equal(rowsSchema))
}

func TestLargeBatchesAreCut(t *testing.T) {
	_, address := serve(t, Options{MaxMessageBytes: 8000})
	c := dial(t, address)
	ctx := testContext(t)
	info, err := c.Execute(ctx, "ROWS 1 10000")
	require.NoError(t, err)
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer r.Release()
	var batches, rows int64
	for r.Next() {
		require.LessOrEqual(t, r.RecordBatch().NumRows(), int64(1000))
		require.Equal(t, rows, r.RecordBatch().Column(0).(*array.Int64).Value(0))
		batches++
		rows += r.RecordBatch().NumRows()
	}
	require.NoError(t, r.Err())
	require.EqualValues(t, 10000, rows)
	require.GreaterOrEqual(t, batches, int64(10))
}

func TestFailuresHaveCodes(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	for kind, code := range map[string]codes.Code{
		"STATEMENT": codes.InvalidArgument, "CANCELLED": codes.Canceled, "DEADLINE": codes.DeadlineExceeded,
		"RESOURCES_EXHAUSTED": codes.ResourceExhausted, "EXECUTOR_LOST": codes.Unavailable, "TRANSPORT": codes.Unavailable,
		"SHUFFLE_FETCH": codes.Unavailable, "INTERNAL": codes.Internal,
	} {
		_, err := c.Execute(testContext(t), "FAIL "+kind)
		require.Equal(t, code, status.Code(err), "%s: %v", kind, err)
		require.Contains(t, status.Convert(err).Message(), "no luck: "+strings.ToLower(kind))

		info, err := c.Execute(testContext(t), "LATE "+kind)
		require.NoError(t, err)
		rows, err := fetch(testContext(t), c, info)
		require.Equal(t, []string{"1"}, rows)
		require.ErrorContains(t, err, "no luck: "+strings.ToLower(kind))
		require.Equal(t, code, status.Code(err), "%s: %v", kind, err)
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	_, err := c.Execute(testContext(t), strings.Repeat("é", 50_000))
	require.Equal(t, codes.InvalidArgument, status.Code(err), err)
	require.Contains(t, err.Error(), "syntax error")
}

func TestBackPressure(t *testing.T) {
	e, address := serve(t, Options{})
	e.lost = true // arrow-go's router does not release the batch that it cannot send.
	c := dial(t, address)
	ctx, cancel := context.WithCancel(testContext(t))
	info, err := c.Execute(ctx, "ROWS 100000 10000")
	require.NoError(t, err)
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	// A client that does not read stops the engine, once HTTP/2's windows are full.
	var before int64
	require.Eventually(t, func() bool {
		now := e.batches.Load()
		still := now == before
		before = now
		return still
	}, 10*time.Second, 100*time.Millisecond)
	require.Less(t, before, int64(2000))
	cancel()
	require.Eventually(t, func() bool { return e.closed.Load() == 1 }, time.Second, time.Millisecond, "a client that goes away cancels")
}

func TestVanishedClientCancels(t *testing.T) {
	e, address := serve(t, Options{DisconnectGrace: 10 * time.Millisecond})
	for name, start := range map[string]func(ctx context.Context, c *flightsql.Client) error{
		"while nothing comes yet": func(ctx context.Context, c *flightsql.Client) error {
			info, err := c.Execute(ctx, "HANG")
			if err != nil {
				return err
			}
			_, err = c.DoGet(ctx, info.Endpoint[0].Ticket)
			return err
		},
		"before it fetches": func(ctx context.Context, c *flightsql.Client) error {
			_, err := c.Execute(ctx, "ROWS 1000000")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			require.NoError(t, err)
			c := &flightsql.Client{Client: flight.NewClientFromConn(conn, nil), Alloc: memory.DefaultAllocator}
			done := e.closed.Load()
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			go func() { _ = start(ctx, c) }()
			require.Eventually(t, func() bool { return e.opened.Load() == done+1 }, time.Second, time.Millisecond)
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, done, e.closed.Load())
			require.NoError(t, conn.Close())
			require.Eventually(t, func() bool { return e.closed.Load() == done+1 }, time.Second, time.Millisecond)
		})
	}
}

func TestUnfetchedStatementsExpire(t *testing.T) {
	e, address := serve(t, Options{UnfetchedTTL: 30 * time.Millisecond})
	c := dial(t, address)
	info, err := c.Execute(testContext(t), "ROWS 1000000")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return e.closed.Load() == 1 }, time.Second, time.Millisecond)
	_, err = fetch(testContext(t), c, info)
	require.ErrorContains(t, err, "nobody fetched its result in time")
	require.Eventually(t, func() bool {
		_, err = fetch(testContext(t), c, info)
		return status.Code(err) == codes.NotFound
	}, time.Second, 10*time.Millisecond, "and are forgotten")

	// One that is being fetched, slowly, does not.
	info, err = c.Execute(testContext(t), "ROWS 2")
	require.NoError(t, err)
	r, err := c.DoGet(testContext(t), info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer r.Release()
	time.Sleep(60 * time.Millisecond)
	for range 2 {
		require.True(t, r.Next())
	}
	require.NoError(t, r.Err())
}

func TestUpdates(t *testing.T) {
	e, address := serve(t, Options{UnfetchedTTL: 30 * time.Millisecond})
	c := dial(t, address)
	ctx := testContext(t)
	n, err := c.ExecuteUpdate(ctx, "UPDATE 7")
	require.NoError(t, err)
	require.EqualValues(t, 7, n)
	n, err = c.ExecuteUpdate(ctx, "ROWS 5")
	require.NoError(t, err)
	require.EqualValues(t, -1, n, "a query changes an unknown number of rows")
	_, err = c.ExecuteUpdate(ctx, "FAIL STATEMENT")
	require.Equal(t, codes.InvalidArgument, status.Code(err))

	require.Equal(t, []string{"8"}, query(t, c, "UPDATE 8"), "an update sent as a query returns its count")
	require.EqualValues(t, 2, e.updates.Load())
}

// The call that starts an update by GetFlightInfo returns when it is done: nobody has to fetch it, and its end is no
// victim of a fetch that is given up.
func TestUpdateAsQueryRunsOnceUnfetched(t *testing.T) {
	e, address := serve(t, Options{UnfetchedTTL: 20 * time.Millisecond})
	e.gate = make(chan struct{})
	c := dial(t, address)
	ctx := testContext(t)
	p, err := c.Prepare(ctx, "UPDATE 3")
	require.NoError(t, err)
	require.EqualValues(t, 0, e.updates.Load(), "preparing executes nothing")
	require.True(t, p.DatasetSchema().Equal(countSchema))
	done := make(chan error, 1)
	go func() {
		_, err := p.Execute(ctx)
		done <- err
	}()
	require.Eventually(t, func() bool { return e.updates.Load() == 1 }, time.Second, time.Millisecond)
	select {
	case err := <-done:
		t.Fatal("returned before the update was through: ", err)
	case <-time.After(60 * time.Millisecond): // longer than UnfetchedTTL
	}
	require.EqualValues(t, 0, e.closed.Load())
	close(e.gate)
	require.NoError(t, <-done)
	require.NoError(t, p.Close(ctx))
	require.Eventually(t, func() bool { return e.closed.Load() == 1 }, time.Second, time.Millisecond)
	require.EqualValues(t, 1, e.updates.Load())

	// Its client going away cancels it.
	e.gate = make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, err := c.Execute(ctx, "UPDATE 3")
		done <- err
	}()
	require.Eventually(t, func() bool { return e.updates.Load() == 2 }, time.Second, time.Millisecond)
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-done))
	require.Eventually(t, func() bool { return e.closed.Load() == 2 }, time.Second, time.Millisecond)
	close(e.gate)
}

func TestPrepared(t *testing.T) {
	e, address := serve(t, Options{})
	c := dial(t, address)
	ctx := testContext(t)
	_, err := c.Prepare(ctx, "NONSENSE")
	require.Equal(t, codes.InvalidArgument, status.Code(err))

	p, err := c.Prepare(ctx, "ECHO ? ?")
	require.NoError(t, err)
	_, err = p.Execute(ctx)
	require.ErrorContains(t, err, "the statement has 2 parameters, and no values are bound")

	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "b", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{42, 0}, []bool{true, false})
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"it's", ""}, []bool{true, true})
	batch := b.NewRecordBatch()
	defer batch.Release()
	p.SetParameters(batch)
	info, err := p.Execute(ctx)
	require.NoError(t, err)
	rows, err := fetch(ctx, c, info)
	require.NoError(t, err)
	require.Equal(t, []string{"CAST(42 AS BIGINT)|'it''s'", "CAST(NULL AS BIGINT)|''"}, rows, "one execution a row, in order")

	one := batch.NewSlice(0, 1)
	defer one.Release()
	wrong, err := c.Prepare(ctx, "ECHO ?")
	require.NoError(t, err)
	wrong.SetParameters(one)
	_, err = wrong.Execute(ctx)
	require.ErrorContains(t, err, "the statement has 1 parameters, and 2 values are bound")

	up, err := c.Prepare(ctx, "UPDATE 5 ? ?")
	require.NoError(t, err)
	up.SetParameters(batch)
	n, err := up.ExecuteUpdate(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
	require.EqualValues(t, 2, e.updates.Load())
	info, err = up.Execute(ctx)
	require.NoError(t, err)
	rows, err = fetch(ctx, c, info)
	require.NoError(t, err)
	require.Equal(t, []string{"10"}, rows, "counts are added up")
	require.EqualValues(t, 4, e.updates.Load())

	handle := up.Handle()
	require.NoError(t, up.Close(ctx))
	cmd, err := flightsql.CreateStatementQueryTicket(handle)
	require.NoError(t, err)
	_, err = c.DoGet(ctx, &flight.Ticket{Ticket: cmd})
	require.Equal(t, codes.NotFound, status.Code(err))
}

func TestSQLDriver(t *testing.T) {
	_, address := serve(t, Options{})
	db, err := sql.Open("flightsql", "flightsql://"+address)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	ctx := testContext(t)
	rows, err := db.QueryContext(ctx, "ROWS 3")
	require.NoError(t, err)
	var got []int64
	for rows.Next() {
		var n int64
		require.NoError(t, rows.Scan(&n))
		got = append(got, n)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	require.Equal(t, []int64{0, 1, 2}, got)
	var a, b string
	require.NoError(t, db.QueryRowContext(ctx, "ECHO ? ?", int64(5), "x").Scan(&a, &b))
	require.Equal(t, "CAST(5 AS BIGINT) 'x'", a+" "+b)
	result, err := db.ExecContext(ctx, "UPDATE 6")
	require.NoError(t, err)
	n, err := result.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 6, n)
}

// A query that runs and that nobody asks for ends soon, and goes on for as long as somebody polls.
func TestUnclaimedQueriesEnd(t *testing.T) {
	e, address := serve(t, Options{PollWait: time.Millisecond, UnclaimedTTL: 200 * time.Millisecond})
	c := dial(t, address)
	ctx := testContext(t)
	poll, err := c.ExecutePoll(ctx, "HANG", nil)
	require.NoError(t, err)
	for start := time.Now(); time.Since(start) < 500*time.Millisecond; {
		poll, err = c.ExecutePoll(ctx, "", poll.FlightDescriptor)
		require.NoError(t, err)
	}
	require.EqualValues(t, 0, e.closed.Load())
	require.Eventually(t, func() bool { return e.closed.Load() == 1 }, 5*time.Second, time.Millisecond)
}

func TestPollAndCancel(t *testing.T) {
	e, address := serve(t, Options{PollWait: 20 * time.Millisecond})
	c := dial(t, address)
	ctx := testContext(t)
	poll, err := c.ExecutePoll(ctx, "HANG", nil)
	require.NoError(t, err)
	require.NotNil(t, poll.FlightDescriptor)
	require.Equal(t, 0.0, poll.GetProgress())
	poll, err = c.ExecutePoll(ctx, "", poll.FlightDescriptor)
	require.NoError(t, err)
	require.NotNil(t, poll.FlightDescriptor)
	var progress seracv1.StatementProgress
	require.NoError(t, proto.Unmarshal(poll.Info.AppMetadata, &progress))
	require.Equal(t, "statement-1", progress.StatementId)
	require.Equal(t, "running", progress.State)
	require.EqualValues(t, 4, progress.Tasks)
	require.True(t, progress.IsQuery)

	result, err := c.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: poll.Info})
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelled, result.Status)
	require.EqualValues(t, 1, e.closed.Load())
	_, err = c.ExecutePoll(ctx, "", poll.FlightDescriptor)
	require.Equal(t, codes.Canceled, status.Code(err))
	require.ErrorContains(t, err, "by the client")
	result, err = c.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: poll.Info})
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusNotCancellable, result.Status)

	// Polling is over when there is something to fetch, and goes on as long as the client wishes.
	poll, err = c.ExecutePoll(ctx, "ROWS 1000000", nil)
	require.NoError(t, err)
	descriptor := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: poll.Info.Endpoint[0].Ticket.Ticket}
	for poll.FlightDescriptor != nil {
		poll, err = c.ExecutePoll(ctx, "", poll.FlightDescriptor)
		require.NoError(t, err)
	}
	r, err := c.DoGet(ctx, poll.Info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	start := time.Now()
	_, err = c.ExecutePoll(ctx, "", descriptor)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond, "a poll waits for news")
	//nolint:staticcheck // CancelQuery is what older clients use.
	cancelled, err := c.CancelQuery(ctx, poll.Info)
	require.NoError(t, err)
	require.Equal(t, flightsql.CancelResultCancelled, cancelled)
	for r.Next() {
	}
	require.Equal(t, codes.Canceled, status.Code(r.Err()), r.Err())

	// An update started by a poll is not waited for.
	e.gate = make(chan struct{})
	poll, err = c.ExecutePoll(ctx, "UPDATE 4", nil)
	require.NoError(t, err)
	require.NotNil(t, poll.FlightDescriptor)
	close(e.gate)
	for poll.FlightDescriptor != nil {
		poll, err = c.ExecutePoll(ctx, "", poll.FlightDescriptor)
		require.NoError(t, err)
	}
	rows, err := fetch(ctx, c, poll.Info)
	require.NoError(t, err)
	require.Equal(t, []string{"4"}, rows)

	_, err = c.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: &flight.FlightInfo{}})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = c.ExecutePoll(ctx, "", &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("?")})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestSessions(t *testing.T) {
	e, address := serve(t, Options{})
	ctx := testContext(t)
	a, b := dial(t, address), dial(t, address)
	query(t, a, "USE cat.b_schema")
	query(t, a, "SET x = 1")
	require.Equal(t, []string{"anonymous cat.b_schema map[x:1]"}, query(t, a, "SHOW"), "without cookies, the connection is the session")
	require.Equal(t, []string{"anonymous cat.main map[]"}, query(t, b, "SHOW"))

	set := func(c *flightsql.Client, values map[string]any) map[string]*flight.SetSessionOptionsResultError {
		options, err := flight.NewSessionOptionValues(values)
		require.NoError(t, err)
		result, err := c.SetSessionOptions(ctx, &flight.SetSessionOptionsRequest{SessionOptions: options})
		require.NoError(t, err)
		return result.Errors
	}
	require.Empty(t, set(b, map[string]any{"catalog": "a_cat", "schema": "other", "y": int64(3), "z": true}))
	require.Equal(t, []string{"anonymous a_cat.other map[y:3 z:true]"}, query(t, b, "SHOW"))
	errs := set(b, map[string]any{"catalog": "nowhere", "bad": "1", "z": nil})
	require.Len(t, errs, 2)
	require.Equal(t, flight.SetSessionOptionsResultErrorInvalidValue, errs["catalog"].Value)
	require.Equal(t, flight.SetSessionOptionsResultErrorInvalidValue, errs["bad"].Value)
	got, err := b.GetSessionOptions(ctx, &flight.GetSessionOptionsRequest{})
	require.NoError(t, err)
	require.Equal(t, "a_cat", got.SessionOptions["catalog"].GetStringValue())
	require.Equal(t, "3", got.SessionOptions["y"].GetStringValue())
	require.NotContains(t, got.SessionOptions, "z")

	closed, err := b.CloseSession(ctx, &flight.CloseSessionRequest{})
	require.NoError(t, err)
	require.Equal(t, flight.CloseSessionResultClosed, closed.Status)
	require.Equal(t, []string{"anonymous cat.main map[]"}, query(t, b, "SHOW"))

	// Two connections with the same cookies are one session, which outlives them.
	cookies := flight.NewCookieMiddleware()
	middleware := func() flight.ClientMiddleware { return flight.CreateClientMiddleware(cookies) }
	c := dial(t, address, middleware())
	query(t, c, "SET shared = 1")
	d := dial(t, address, middleware())
	require.Equal(t, []string{"anonymous cat.main map[shared:1]"}, query(t, d, "SHOW"))
	require.NoError(t, c.Close())
	require.NoError(t, d.Close())
	time.Sleep(20 * time.Millisecond)
	d = dial(t, address, middleware())
	require.Equal(t, []string{"anonymous cat.main map[shared:1]"}, query(t, d, "SHOW"))
	before := e.sessions.Load()
	_, err = d.CloseSession(ctx, &flight.CloseSessionRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"anonymous cat.main map[]"}, query(t, d, "SHOW"))
	require.Equal(t, before+1, e.sessions.Load())
}

func TestSessionsEnd(t *testing.T) {
	e := newFakeEngine(t)
	s := New(e, Options{SessionIdle: 50 * time.Millisecond})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(l) }()
	defer s.Shutdown(context.Background())
	open := func() (sessions, prepared int) {
		s.sessions.mu.Lock()
		defer s.sessions.mu.Unlock()
		s.prepared.mu.Lock()
		defer s.prepared.mu.Unlock()
		return len(s.sessions.byID), len(s.prepared.byHandle)
	}
	plain := dial(t, l.Addr().String())
	keeper := dial(t, l.Addr().String(), flight.NewClientCookieMiddleware())
	for _, c := range []*flightsql.Client{plain, keeper} {
		for range 2 {
			_, err := c.Prepare(testContext(t), "ROWS 1")
			require.NoError(t, err)
		}
	}
	sessions, prepared := open()
	require.Equal(t, []int{2, 4}, []int{sessions, prepared})
	require.NoError(t, plain.Close())
	require.NoError(t, keeper.Close())
	require.Eventually(t, func() bool { s, p := open(); return s == 1 && p == 2 }, 45*time.Millisecond, time.Millisecond, "the one with a cookie may come back")
	require.Eventually(t, func() bool { s, p := open(); return s == 0 && p == 0 }, time.Second, time.Millisecond, "but not for ever")
}

func TestAnyCredentialIsTaken(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	ctx, err := c.Client.AuthenticateBasicToken(testContext(t), "ann", "secret")
	require.NoError(t, err)
	show := func(ctx context.Context) string {
		info, err := c.Execute(ctx, "SHOW")
		require.NoError(t, err)
		rows, err := fetch(ctx, c, info)
		require.NoError(t, err)
		return rows[0]
	}
	require.Equal(t, "ann cat.main map[]", show(ctx))
	require.Equal(t, "anonymous cat.main map[]", show(metadata.AppendToOutgoingContext(testContext(t), "authorization", "Bearer of.good.news")))
	basic := metadata.AppendToOutgoingContext(testContext(t), "authorization", "Basic Ym9iOnB3") // bob:pw
	require.Equal(t, "bob cat.main map[]", show(basic))
	require.Equal(t, "anonymous cat.main map[]", show(testContext(t)))
}

func TestUnsupported(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	ctx := testContext(t)
	_, err := c.BeginTransaction(ctx)
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.ErrorContains(t, err, "transactions are not supported")
}

func TestSubstrait(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	ctx := testContext(t)
	plan := flightsql.SubstraitPlan{Plan: []byte("ROWS 2"), Version: "0.85.0"}
	info, err := c.ExecuteSubstrait(ctx, plan)
	require.NoError(t, err)
	rows, err := fetch(ctx, c, info)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1"}, rows)

	schema, err := c.GetExecuteSubstraitSchema(ctx, plan)
	require.NoError(t, err)
	require.Equal(t, info.Schema, schema.Schema)

	changed, err := c.ExecuteSubstraitUpdate(ctx, plan)
	require.NoError(t, err)
	require.EqualValues(t, -1, changed)

	poll, err := c.ExecuteSubstraitPoll(ctx, plan, nil)
	require.NoError(t, err)
	rows, err = fetch(ctx, c, poll.GetInfo())
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1"}, rows)

	prepared, err := c.PrepareSubstrait(ctx, plan)
	require.NoError(t, err)
	require.Equal(t, rowsSchema.String(), prepared.DatasetSchema().String())
	info, err = prepared.Execute(ctx)
	require.NoError(t, err)
	rows, err = fetch(ctx, c, info)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1"}, rows)
	require.NoError(t, prepared.Close(ctx))

	for _, call := range []func() error{
		func() error { _, err := c.ExecuteSubstrait(ctx, flightsql.SubstraitPlan{}); return err },
		func() error { _, err := c.PrepareSubstrait(ctx, flightsql.SubstraitPlan{}); return err },
	} {
		require.Equal(t, codes.InvalidArgument, status.Code(call()))
	}
}

func TestShutdown(t *testing.T) {
	e := newFakeEngine(t)
	s := New(e, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c := dial(t, l.Addr().String())
	ctx := testContext(t)
	finishing, err := c.Execute(ctx, "ROWS 200 5000")
	require.NoError(t, err)
	hanging, err := c.Execute(ctx, "HANG")
	require.NoError(t, err)
	hung := make(chan error, 1)
	go func() {
		_, err := fetch(ctx, c, hanging)
		hung <- err
	}()
	shutCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { s.Shutdown(shutCtx); close(done) }()
	require.Eventually(t, func() bool {
		_, err := c.Execute(ctx, "ROWS 1")
		return status.Code(err) == codes.Unavailable
	}, time.Second, time.Millisecond, "no new statements")
	rows, err := fetch(ctx, c, finishing)
	require.NoError(t, err)
	require.Len(t, rows, 1_000_000, "running ones end")
	cancel()
	require.ErrorContains(t, <-hung, "shutting down", "but not for ever")
	<-done
	require.NoError(t, <-served)
}

func TestMetadataCalls(t *testing.T) {
	_, address := serve(t, Options{Version: "1.2.3"})
	c := dial(t, address)
	ctx := testContext(t)
	rows := func(info *flight.FlightInfo, err error) []string {
		t.Helper()
		require.NoError(t, err)
		rows, err := fetch(ctx, c, info)
		require.NoError(t, err)
		return rows
	}
	text := func(s string) *string { return &s }
	require.Equal(t, []string{"a_cat", "cat"}, rows(c.GetCatalogs(ctx)))
	require.Equal(t, []string{"a_cat|other", "cat|bXschema", "cat|b_schema", "cat|main"}, rows(c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{})))
	require.Equal(t, []string{"cat|main"}, rows(c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{Catalog: text("cat"), DbSchemaFilterPattern: text("m%n")})))
	require.Equal(t, []string{"cat|bXschema", "cat|b_schema"}, rows(c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{DbSchemaFilterPattern: text("b_schema")})))
	require.Equal(t, []string{"cat|b_schema"}, rows(c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{DbSchemaFilterPattern: text(`b\_schema`)})))
	require.Empty(t, rows(c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{Catalog: text("")})), "the empty catalog holds nothing; it is not all of them")
	require.Equal(t, []string{"TABLE"}, rows(c.GetTableTypes(ctx)))

	require.Equal(t, []string{"cat|main|broken|TABLE", "cat|main|t1|TABLE", "cat|main|t2|TABLE"}, rows(c.GetTables(ctx, &flightsql.GetTablesOpts{})))
	require.Equal(t, []string{"cat|main|t1|TABLE"}, rows(c.GetTables(ctx, &flightsql.GetTablesOpts{TableNameFilterPattern: text("_1"), TableTypes: []string{"VIEW", "TABLE"}})))
	require.Empty(t, rows(c.GetTables(ctx, &flightsql.GetTablesOpts{TableTypes: []string{"VIEW"}})))
	require.Empty(t, rows(c.GetTables(ctx, &flightsql.GetTablesOpts{DbSchemaFilterPattern: text("")})))

	info, err := c.GetTables(ctx, &flightsql.GetTablesOpts{IncludeSchema: true})
	require.NoError(t, err)
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Schema().Equal(schema_ref.TablesWithIncludedSchema))
	require.True(t, r.Next())
	for i, want := range []*arrow.Schema{arrow.NewSchema(nil, nil), tableSchema, tableSchema} {
		got, err := flight.DeserializeSchema(r.RecordBatch().Column(4).(*array.Binary).Value(i), memory.DefaultAllocator)
		require.NoError(t, err)
		require.True(t, got.Equal(want), got)
	}

	ref := flightsql.TableRef{Table: "t1"}
	require.Empty(t, rows(c.GetPrimaryKeys(ctx, ref)))
	require.Empty(t, rows(c.GetImportedKeys(ctx, ref)))
	require.Empty(t, rows(c.GetExportedKeys(ctx, ref)))
	require.Empty(t, rows(c.GetCrossReference(ctx, ref, ref)))

	types := rows(c.GetXdbcTypeInfo(ctx, nil))
	require.Len(t, types, len(typeInfos))
	code := int32(sqlBigint)
	types = rows(c.GetXdbcTypeInfo(ctx, &code))
	require.Len(t, types, 2)
	require.True(t, strings.HasPrefix(types[0], "BIGINT|-5|19|"), types)
}

func TestSQLInfo(t *testing.T) {
	_, address := serve(t, Options{Version: "1.2.3"})
	c := dial(t, address)
	ctx := testContext(t)
	read := func(ids ...flightsql.SqlInfo) map[uint32]string {
		info, err := c.GetSqlInfo(ctx, ids)
		require.NoError(t, err)
		r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
		require.NoError(t, err)
		defer r.Release()
		got := map[uint32]string{}
		for r.Next() {
			values := r.RecordBatch().Column(1).(*array.DenseUnion)
			for i := range int(r.RecordBatch().NumRows()) {
				child := values.Field(values.ChildID(i))
				require.False(t, child.IsNull(int(values.ValueOffset(i))))
				got[r.RecordBatch().Column(0).(*array.Uint32).Value(i)] = child.ValueStr(int(values.ValueOffset(i)))
			}
		}
		require.NoError(t, r.Err())
		return got
	}
	all := read()
	require.Len(t, all, len(sqlInfo("")), "an empty list asks for everything")
	require.Equal(t, "Serac", all[uint32(flightsql.SqlInfoFlightSqlServerName)])
	require.Equal(t, map[uint32]string{1: "1.2.3"}, read(flightsql.SqlInfoFlightSqlServerVersion, 9999), "the unknown is left out")
	require.Empty(t, read(9999))
}

func TestActionsAreListed(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	stream, err := c.Client.ListActions(testContext(t), &flight.Empty{})
	require.NoError(t, err)
	var names []string
	for {
		a, err := stream.Recv()
		if err != nil {
			break
		}
		names = append(names, a.Type)
	}
	require.Contains(t, names, flightsql.CreatePreparedStatementActionType)
	require.Contains(t, names, flight.CloseSessionActionType)
	require.NotContains(t, names, flightsql.BeginTransactionActionType)
}

func TestBrokenRequestsAreErrors(t *testing.T) {
	_, address := serve(t, Options{})
	c := dial(t, address)
	ctx := testContext(t)
	for _, cmd := range [][]byte{nil, []byte("junk"), bytes.Repeat([]byte{0xff}, 100)} {
		_, err := c.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Cmd: cmd})
		require.Equal(t, codes.InvalidArgument, status.Code(err), err)
		_, err = c.DoGet(ctx, &flight.Ticket{Ticket: cmd})
		require.Equal(t, codes.InvalidArgument, status.Code(err), err)
	}
	stream, err := c.Client.DoAction(ctx, &pb.Action{Type: "Dance"})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestNothingLeaks(t *testing.T) {
	e, address := serve(t, Options{DisconnectGrace: time.Millisecond})
	before := runtime.NumGoroutine()
	for i := range 20 {
		c := dial(t, address)
		query(t, c, "ROWS 10")
		_, err := c.Execute(testContext(t), "HANG")
		require.NoError(t, err)
		if i%2 == 0 {
			_, _ = c.Prepare(testContext(t), "ROWS 1")
			_, _ = c.Execute(testContext(t), "FAIL INTERNAL")
		}
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool { return e.opened.Load() == e.closed.Load() }, 2*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, 3*time.Second, 10*time.Millisecond,
		"%d goroutines before, %d after", before, runtime.NumGoroutine())
}
