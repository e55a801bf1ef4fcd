package counters

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync"

	_ "github.com/go-sql-driver/mysql" // for sql.Open
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/api/v3/version"
)

// dialAll returns a connection for each caller of a system.
func dialAll[C any](dial func() (C, error)) ([]C, error) {
	connections, failed := make([]C, atOnce), make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() { connections[i], failed[i] = dial() })
	}
	wg.Wait()
	return connections, errors.Join(failed...)
}

// peerOf returns a source with a caller for each connection.
func peerOf[C any](connections []C, name string, each int64, take func(context.Context, C) (int64, error)) source {
	callers := make([]caller, len(connections))
	for i, c := range connections {
		callers[i] = func(ctx context.Context) (int64, error) { return take(ctx, c) }
	}
	return source{peer, name, each, callers}
}

// etcdPeers adds none: etcd counts nothing for its clients.
func etcdPeers(_ context.Context, s *system, _ string) error {
	s.version = version.Version
	return nil
}

func redisPeers(ctx context.Context, s *system, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: u.Host, PoolSize: atOnce})
	s.onStop(func() { client.Close() })
	connections, err := dialAll(func() (*redis.Conn, error) {
		c := client.Conn() // one connection, once it is used
		return c, c.Ping(ctx).Err()
	})
	if err != nil {
		return err
	}
	s.version = connections[0].InfoMap(ctx, "server").Item("Server", "redis_version")
	s.sources = append(s.sources,
		peerOf(connections, "INCR", 1, func(ctx context.Context, c *redis.Conn) (int64, error) { return c.Incr(ctx, "one").Result() }),
		peerOf(connections, "INCRBY 1000", 1000, func(ctx context.Context, c *redis.Conn) (int64, error) { return c.IncrBy(ctx, "many", 1000).Result() }))
	return nil
}

func postgresPeers(ctx context.Context, s *system, address string) error {
	connections, err := dialAll(func() (*pgx.Conn, error) { return pgx.Connect(ctx, address) })
	if err != nil {
		return err
	}
	s.onStop(func() {
		for _, c := range connections {
			c.Close(context.Background())
		}
	})
	s.version = connections[0].PgConn().ParameterStatus("server_version")
	if _, err := connections[0].Exec(ctx, `CREATE SEQUENCE one; CREATE SEQUENCE cached CACHE 1000;
		CREATE TABLE hilo (name text PRIMARY KEY, next bigint NOT NULL); INSERT INTO hilo VALUES ('orders', 0)`); err != nil {
		return err
	}
	asking := func(name string, each int64, statement string) source {
		return peerOf(connections, name, each, func(ctx context.Context, c *pgx.Conn) (n int64, err error) {
			err = c.QueryRow(ctx, statement).Scan(&n)
			return n, err
		})
	}
	s.sources = append(s.sources, asking("nextval, CACHE 1", 1, "SELECT nextval('one')"), asking("nextval, CACHE 1000", 1, "SELECT nextval('cached')"),
		asking("HiLo, a row with UPDATE", 1000, "UPDATE hilo SET next = next + 1000 WHERE name = 'orders' RETURNING next"))
	return nil
}

func mariaDBPeers(ctx context.Context, s *system, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s?multiStatements=true", u.User, u.Host, u.Path))
	if err != nil {
		return err
	}
	s.onStop(func() { db.Close() })
	if err := db.QueryRowContext(ctx, "SELECT version()").Scan(&s.version); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE tickets (id BIGINT AUTO_INCREMENT PRIMARY KEY);
		CREATE SEQUENCE one NOCACHE; CREATE SEQUENCE cached CACHE 1000`); err != nil {
		return err
	}
	connections, err := dialAll(func() (*sql.Conn, error) { return db.Conn(ctx) })
	if err != nil {
		return err
	}
	asking := func(name, statement string) source {
		return peerOf(connections, name, 1, func(ctx context.Context, c *sql.Conn) (n int64, err error) {
			err = c.QueryRowContext(ctx, statement).Scan(&n)
			return n, err
		})
	}
	s.sources = append(s.sources,
		peerOf(connections, "INSERT with AUTO_INCREMENT", 1, func(ctx context.Context, c *sql.Conn) (int64, error) {
			done, err := c.ExecContext(ctx, "INSERT INTO tickets VALUES (NULL)")
			if err != nil {
				return 0, err
			}
			return done.LastInsertId()
		}), asking("NEXTVAL, NOCACHE", "SELECT NEXTVAL(one)"), asking("NEXTVAL, CACHE 1000", "SELECT NEXTVAL(cached)"))
	return nil
}
