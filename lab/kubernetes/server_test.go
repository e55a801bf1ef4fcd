package kubetest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lab/etcd"
)

// A Server is a kube-apiserver with rights by RBAC. A user's token is the user's name.
type Server struct {
	*servers.Server
	program string
	etcd    *etcdtest.Cluster
}

// Admin may do everything, and Orders is the service account of docs/kubernetes/configmap.yaml.
const Admin, Orders = "admin", "system:serviceaccount:shop:orders"

// Start starts a server with an etcd in a directory, and waits until it is ready.
func Start(dir string) (*Server, error) {
	program, err := servers.Tool("apiserver", "k8s.io/kubernetes/cmd/kube-apiserver")
	if err != nil {
		return nil, err
	}
	cluster, err := etcdtest.New(filepath.Join(dir, "etcd"), 1, nil)
	if err != nil {
		return nil, err
	}
	s, err := servers.New("kube-apiserver", filepath.Join(dir, "apiserver"), nil)
	if err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	server := &Server{s, program, cluster}
	tokens := fmt.Sprintf("%s,%[1]s,1,system:masters\n%s,%[2]s,2\n", Admin, Orders)
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return server, errors.Join(os.WriteFile(server.path("tokens"), []byte(tokens), 0o600), os.WriteFile(server.path("key"), private, 0o600),
		cluster.Start(), server.Start())
}

func (s *Server) path(name string) string { return filepath.Join(s.Dir(), name) }

// Start starts the server again. It does nothing to a server that runs.
func (s *Server) Start() error {
	cmd := exec.Command(s.program, "--etcd-servers=http://"+s.etcd.Hosts(), "--bind-address=127.0.0.1",
		"--secure-port="+strconv.Itoa(s.Port()),
		"--cert-dir="+s.path("certificates"), "--token-auth-file="+s.path("tokens"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://localhost", "--service-account-key-file="+s.path("key"),
		"--service-account-signing-key-file="+s.path("key"),
		"--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24")
	return s.Launch(cmd, servers.Ready("https://"+s.Addr()+"/readyz"))
}

// Stop ends the server and its etcd.
func (s *Server) Stop() error { return errors.Join(s.Kill(), s.etcd.Kill()) }

// URL returns the name of a store in a ConfigMap, for a user who finds the server at an address.
func (s *Server) URL(addr, user, namespace, name string) (string, error) {
	path := s.path(fmt.Sprintf("%s-%s.config", user, addr))
	config := fmt.Sprintf(`{"current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
		"clusters": [{"name": "x", "cluster": {"server": "https://%s", "certificate-authority": "certificates/apiserver.crt"}}],
		"users": [{"name": "x", "user": {"token": %q}}]}`, addr, user)
	return fmt.Sprintf("kubernetes:%s/%s?kubeconfig=%s", namespace, name, path), os.WriteFile(path, []byte(config), 0o600)
}
