package client

import (
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// dialForTest is a connection that nobody answers.
func dialForTest() (*Conn, error) {
	conn, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &Conn{conn: conn, client: &flightsql.Client{Client: flight.NewClientFromConn(conn, nil), Alloc: memory.DefaultAllocator}}, nil
}
