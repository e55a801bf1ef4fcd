package redis_test

import (
	"context"
	"fmt"
	"log"

	goredis "github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/redis"
)

// A program finds the primary by its sentinels, and waits until a replica has each swap.
func Example() {
	ctx := context.Background()
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName:    "main",
		SentinelAddrs: []string{"sentinel1:26379", "sentinel2:26379", "sentinel3:26379"},
	})
	defer client.Close()
	engine, err := redis.New(client, redis.Config{Replicas: 1})
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
