package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/redisstore"
)

// A service opens a store that was created when it was deployed.
func Example() {
	ctx := context.Background()
	store, err := redisstore.Open(ctx, "rediss://app:password@redis.example.com:6379?ca=/etc/app/redis.pem")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	secret := randflake.NewSecret() // the service's own, read from where its secrets are
	keeper, err := lease.Keep(ctx, store, secret, lease.TTL(5*time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer keeper.Close()
	id, err := keeper.Generator().Generate()
	fmt.Println(id, err)
}

// A service that has a client for a cluster already lets the store use it.
func ExampleNew() {
	ctx := context.Background()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"redis-1.example.com:6379"}})
	defer client.Close()

	store, err := redisstore.New(ctx, client, redisstore.Config{Prefix: "{orders}", Replicas: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}
