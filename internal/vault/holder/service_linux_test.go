package holder

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// service is a Secret Service with one collection, as the specification has it.
type service struct {
	conn *dbus.Conn

	mu     sync.Mutex
	locked bool
	items  map[dbus.ObjectPath]*item
}

type item struct {
	attributes map[string]string
	value      []byte
}

func (s *service) OpenSession(algorithm string, _ dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	if algorithm != "plain" {
		return dbus.Variant{}, "/", dbus.NewError("org.freedesktop.DBus.Error.NotSupported", nil)
	}
	return dbus.MakeVariant(""), "/org/freedesktop/secrets/session/1", nil
}

func (s *service) Unlock(objects []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locked {
		return nil, "/org/freedesktop/secrets/prompt/1", nil
	}
	return objects, "/", nil
}

func (s *service) SearchItems(want map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []dbus.ObjectPath{}
	for path, it := range s.items {
		if maps.Equal(it.attributes, want) {
			found = append(found, path)
		}
	}
	return found, nil
}

func (s *service) CreateItem(properties map[string]dbus.Variant, v secret, replace bool) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	attributes, _ := properties[ssIface+"Item.Attributes"].Value().(map[string]string)
	s.mu.Lock()
	defer s.mu.Unlock()
	path := dbus.ObjectPath("/org/freedesktop/secrets/collection/login/" + strconv.Itoa(len(s.items)+1))
	s.items[path] = &item{attributes, v.Value}
	if err := s.conn.Export(&itemObject{s, path}, path, ssIface+"Item"); err != nil {
		return "/", "/", dbus.MakeFailedError(err)
	}
	return path, "/", nil
}

type itemObject struct {
	s    *service
	path dbus.ObjectPath
}

func (i *itemObject) GetSecret(session dbus.ObjectPath) (secret, *dbus.Error) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return secret{session, []byte{}, i.s.items[i.path].value, "text/plain"}, nil
}

func (i *itemObject) Delete() (dbus.ObjectPath, *dbus.Error) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	delete(i.s.items, i.path)
	return "/", nil
}

// bus starts a message bus of its own and gives the directory of its socket.
func bus(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("there is no dbus-daemon here to keep a keychain on")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	text := `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=` + filepath.Join(dir, "bus") + `</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config-file="+conf, "--nofork", "--print-address")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "unix:") {
		t.Fatalf("the bus says %q, %v", line, err)
	}
	return dir
}

// serve puts a Secret Service on the bus.
func serve(t *testing.T, dir string) *service {
	t.Helper()
	conn, err := dbus.Connect("unix:path=" + filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &service{conn: conn, items: map[dbus.ObjectPath]*item{}}
	if err := errors.Join(conn.Export(s, ssPath, ssIface+"Service"), conn.Export(s, ssLogin, ssIface+"Collection")); err != nil {
		t.Fatal(err)
	}
	if got, err := conn.RequestName(ssName, dbus.NameFlagDoNotQueue); err != nil || got != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("take the name: %v, %v", got, err)
	}
	return s
}

// collection puts the keyring on the bus; nil takes it away.
func (s *service) collection(t *testing.T, at any) {
	t.Helper()
	if err := s.conn.Export(at, ssLogin, ssIface+"Collection"); err != nil {
		t.Fatal(err)
	}
}

// TestTheSecretServiceKeepsKeys covers Y92 on Linux: against a service on a real
// message bus.
func TestTheSecretServiceKeepsKeys(t *testing.T) {
	dir := bus(t)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	k := &Keychain{Limit: 20 * time.Second}
	if _, _, err := k.Make(t.Context(), "v", "k"); !errors.Is(err, ErrNoKeychain) {
		t.Errorf("a bus without the service: %v", err)
	}
	s := serve(t, dir)
	s.collection(t, nil)
	if _, _, err := k.Make(t.Context(), "v", "k"); !errors.Is(err, ErrNoCollection) {
		t.Errorf("a service without a keyring: %v", err)
	}
	s.collection(t, s)
	key, note, err := k.Make(t.Context(), "v", "k")
	if err != nil {
		t.Fatal(err)
	}
	if back, err := k.Key(t.Context(), "v", "k", note); err != nil || string(back) != string(key) {
		t.Errorf("it came back as %x, %v", back, err)
	}
	if _, err := k.Key(t.Context(), "v", "another", note); !errors.Is(err, ErrNoEntry) {
		t.Errorf("another key: %v", err)
	}
	s.mu.Lock()
	s.locked = true
	s.mu.Unlock()
	begin := time.Now()
	if _, err := k.Key(t.Context(), "v", "k", note); !errors.Is(err, ErrKeychainLocked) || time.Since(begin) > 10*time.Second {
		t.Errorf("locked: %v after %s", err, time.Since(begin))
	}
	s.mu.Lock()
	s.locked = false
	s.mu.Unlock()
	if err := k.Forget(t.Context(), "v", "k", note); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Key(t.Context(), "v", "k", note); !errors.Is(err, ErrNoEntry) {
		t.Errorf("forgotten: %v", err)
	}
	if err := k.Forget(t.Context(), "v", "k", note); err != nil {
		t.Errorf("forgotten twice: %v", err)
	}
}

func TestWithoutABusThereIsNoKeychain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*secretService{{}, {socket: filepath.Join(dir, "bus")}, {socket: filepath.Join(dir, "none")}} {
		if err := s.Set(t.Context(), "a", "b"); !errors.Is(err, ErrNoKeychain) {
			t.Errorf("%q: %v", s.socket, err)
		}
	}
	if ours(filepath.Join(dir, "bus")) {
		t.Error("a file counts as a socket")
	}
}
