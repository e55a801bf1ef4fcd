package etcdtest

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// A Member is one server of a cluster.
type Member struct {
	Name    string
	Dir     string // its data
	Client  string // URL that it serves clients at
	Peer    string // URL that it serves the other members at
	Cluster string // all members, as name=peer,name=peer
	TLS     *TLS   // nil for none

	server *embed.Etcd // nil while it does not run in this process
}

// Host returns the address for clients, as host:port.
func (m *Member) Host() string {
	_, host, _ := strings.Cut(m.Client, "://")
	return host
}

// readyIn is how long a member may take until it serves clients, which is when it has found a
// leader.
const readyIn = time.Minute

// Start runs the member inside this process, and returns when it serves clients. It does nothing
// when it runs already.
func (m *Member) Start() error {
	if m.server != nil {
		return nil
	}
	config, err := m.config()
	if err != nil {
		return err
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("etcdtest: %s: %w", m.Name, err)
	}
	select {
	case <-server.Server.ReadyNotify():
		m.server = server
		return nil
	case err = <-server.Err():
	case <-time.After(readyIn):
		err = fmt.Errorf("not ready in %v: do the other members run?", readyIn)
	}
	server.Close()
	return fmt.Errorf("etcdtest: %s: %w", m.Name, err)
}

// Stop stops the member, in good order. It does nothing when it does not run in this process.
func (m *Member) Stop() {
	if m.server != nil {
		m.server.Close()
		m.server = nil
	}
}

// Leads reports whether the member runs in this process and is the leader.
func (m *Member) Leads() bool {
	return m.server != nil && m.server.Server.Leader() == m.server.Server.MemberID()
}

func (m *Member) config() (*embed.Config, error) {
	config := embed.NewConfig()
	config.Name, config.Dir = m.Name, m.Dir
	client, clientErr := url.Parse(m.Client)
	peer, peerErr := url.Parse(m.Peer)
	if clientErr != nil || peerErr != nil {
		return nil, fmt.Errorf("etcdtest: %s: client %q, peer %q: want URLs", m.Name, m.Client, m.Peer)
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = m.Cluster
	config.BcryptCost = 4 // passwords of tests are worth no more time
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	if m.TLS != nil {
		config.ClientTLSInfo.CertFile, config.ClientTLSInfo.KeyFile = m.TLS.Cert, m.TLS.Key
		config.ClientTLSInfo.TrustedCAFile = m.TLS.CA
		config.ClientTLSInfo.ClientCertAuth = m.TLS.CA != ""
	}
	return config, nil
}
