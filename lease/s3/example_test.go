package s3_test

import (
	"context"
	"fmt"
	"log"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/s3"
)

// A program keeps its leases in a bucket of MinIO, with the credentials in AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY.
func Example() {
	ctx := context.Background()
	engine, err := s3.Connect(ctx, "s3://bucket/ids?endpoint=https://minio.example.com:9000")
	if err != nil {
		log.Fatal(err)
	}
	space, err := lease.Open(ctx, engine, lease.Config{}) // randflake store init has made it, once
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()
	fmt.Println(space) // for lease.Keep, whose example goes on from here
}
