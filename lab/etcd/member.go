//go:build unix

package etcdtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/randflake/randflake/internal/servers"
)

// A Member is one server of a cluster.
type Member struct {
	*servers.Server `json:"-"`

	Name    string
	Data    string // directory
	Client  string // URL that it serves clients at
	Peer    string // URL that it serves the other members at
	Cluster string // all members, as name=peer,name=peer
	TLS     *TLS   // nil for none
}

// variable is the environment variable that makes Main run the member which it describes.
const variable = "ETCDTEST_MEMBER"

// readyLine is what a process says when its member serves clients.
const readyLine = "etcdtest: ready"

// Start runs this program again, as a process in which [Main] runs the member, and returns when that serves
// clients, for which a majority must run. It does nothing when the member runs already.
func (m *Member) Start() error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("etcdtest: %w", err)
	}
	description, _ := json.Marshal(m) // nothing but strings
	cmd := exec.Command(exe)
	cmd.Env = []string{variable + "=" + string(description)}
	return m.Launch(cmd, func() bool {
		said, _ := os.ReadFile(m.Log())
		return bytes.Contains(said, []byte(readyLine))
	})
}

// Main must be the first thing that a program which uses this package does, in main or TestMain.
// In a process that Start made it runs the member until SIGTERM, and does not return. In any other
// it returns at once.
func Main() {
	description, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	if err := foreground(description); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func foreground(description string) error {
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGTERM)
	var m Member
	if err := json.Unmarshal([]byte(description), &m); err != nil {
		return fmt.Errorf("etcdtest: environment variable %s: %w", variable, err)
	}
	config, err := m.config()
	if err != nil {
		return err
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("etcdtest: %s: %w", m.Name, err)
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
		fmt.Println(readyLine)
	case <-over:
		return nil
	}
	select {
	case <-over:
		return nil
	case err := <-server.Err():
		return fmt.Errorf("etcdtest: %s: %w", m.Name, err)
	}
}

func (m *Member) config() (*embed.Config, error) {
	config := embed.NewConfig()
	config.Name, config.Dir = m.Name, m.Data
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
