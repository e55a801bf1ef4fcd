package etcdstore

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcdstore/etcdtest"
	"github.com/randflake/randflake/lease/leasetest"
)

// stopLeader stops the member that leads, as soon as one does.
func stopLeader(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	eventually(t, "find the leader", func(context.Context) error {
		for _, m := range c.Members {
			if m.Leads() {
				m.Stop()
				return nil
			}
		}
		return errors.New("no member leads")
	})
}

// TestClusterOfThree tests a cluster of three as it loses its leader, and then its majority.
func TestClusterOfThree(t *testing.T) {
	cluster := startCluster(t, 3, nil)
	s, _ := create(t, urlOf(cluster, "/randflake/"))
	var h leasetest.History
	held := acquire(t, s, oneMinute)
	h.Granted(held)
	stopLeader(t, cluster)
	eventually(t, "Lookup without the leader", func(ctx context.Context) (err error) { held, err = s.Lookup(ctx, held); return err })
	eventually(t, "Renew without the leader", func(ctx context.Context) (err error) {
		if held, err = s.Lookup(ctx, held); err == nil {
			held, err = s.Renew(ctx, held, 100*time.Second)
		}
		return err
	})
	h.Granted(held)
	for range 5 {
		eventually(t, "Acquire without a member", func(ctx context.Context) error {
			rec, err := s.Acquire(ctx, oneMinute)
			if err == nil {
				h.Granted(rec)
			}
			return err
		})
	}
	clock := leasetest.NewClock(noon)
	other := open(t, urlOf(cluster, "/randflake/"), clock) // one member does not answer

	stopLeader(t, cluster)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if rec, err := other.Renew(ctx, held, time.Minute); err == nil {
		t.Errorf("Renew without a majority: %+v", rec)
	}
	if rec, err := other.Lookup(ctx, held); err == nil {
		t.Errorf("Lookup without a majority: %+v", rec)
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Renew with all members back", func(ctx context.Context) (err error) {
		if held, err = other.Lookup(ctx, held); err == nil {
			held, err = other.Renew(ctx, held, 100*time.Second)
		}
		return err
	})
	h.Granted(held)
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	wantFloor(t, s, 0)
}

// TestNoSpace: when etcd's space quota is used up, writes fail and nothing is lost.
func TestNoSpace(t *testing.T) {
	cluster := startCluster(t, 1, nil)
	s, _ := create(t, urlOf(cluster, "/randflake/"))
	held := acquire(t, s, oneMinute)
	status, err := s.client.Status(t.Context(), cluster.Members[0].Client)
	if err != nil {
		t.Fatal(err)
	}
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: pb.AlarmType_NOSPACE}
	maintenance := pb.NewMaintenanceClient(s.client.ActiveConnection())
	if _, err := maintenance.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, rpctypes.ErrNoSpace) || errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew: %+v, %v; want ErrNoSpace", got, err)
	}
	if got, err := s.Lookup(t.Context(), held); err != nil || got != held {
		t.Errorf("Lookup: %+v, %v; want %+v", got, err, held)
	}
	alarm.Action = pb.AlarmRequest_DEACTIVATE
	if _, err := maintenance.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	renew(t, s, held)
	wantFloor(t, s, 0)
}
