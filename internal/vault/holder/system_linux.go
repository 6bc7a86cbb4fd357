package holder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/godbus/dbus/v5"
)

// system is the Secret Service (freedesktop.org, version 0.2) on the session
// bus of this user.
func system() Store {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), filepath.Join("/run/user", strconv.Itoa(os.Getuid()))} {
		if path := filepath.Join(dir, "bus"); dir != "" && ours(path) {
			return &secretService{socket: path}
		}
	}
	return &secretService{}
}

// ours: the socket is this user's. An address from the environment is not
// taken: whoever starts the daemon could name a bus of their own in it.
func ours(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// secretService speaks to one. The library that wraps it everywhere else waits
// without end for a prompt and starts a bus where none runs; here a locked
// keychain is an answer, and each call ends with its context.
type secretService struct{ socket string }

const (
	ssName  = "org.freedesktop.secrets"
	ssPath  = dbus.ObjectPath("/org/freedesktop/secrets")
	ssLogin = dbus.ObjectPath("/org/freedesktop/secrets/aliases/default")
	ssIface = "org.freedesktop.Secret."
)

// secret is the wire form of one (oayays).
type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

// with calls f with a connection and a session of the service.
func (s *secretService) with(ctx context.Context, f func(c *dbus.Conn, session dbus.ObjectPath) error) error {
	if s.socket == "" {
		return ErrNoKeychain
	}
	c, err := dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(s.socket), dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("%w (%v)", ErrNoKeychain, err)
	}
	defer c.Close()
	if err := c.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		return fmt.Errorf("%w (%v)", ErrNoKeychain, err)
	}
	if err := c.Hello(); err != nil {
		return fmt.Errorf("%w (%v)", ErrNoKeychain, err)
	}
	var none dbus.Variant
	var session dbus.ObjectPath
	err = c.Object(ssName, ssPath).CallWithContext(ctx, ssIface+"Service.OpenSession", 0, "plain", dbus.MakeVariant("")).Store(&none, &session)
	if err != nil {
		return said(err, ErrNoKeychain)
	}
	defer c.Object(ssName, session).Call(ssIface+"Session.Close", dbus.FlagNoReplyExpected)
	if err := unlocked(ctx, c, ssLogin); err != nil {
		return err
	}
	return f(c, session)
}

// unlocked asks for objects to be unlocked; where that needs a prompt they are
// locked, and stay so.
func unlocked(ctx context.Context, c *dbus.Conn, object dbus.ObjectPath) error {
	var open []dbus.ObjectPath
	var prompt dbus.ObjectPath
	err := c.Object(ssName, ssPath).CallWithContext(ctx, ssIface+"Service.Unlock", 0, []dbus.ObjectPath{object}).Store(&open, &prompt)
	if err != nil {
		return said(err, ErrNoKeychain)
	}
	if prompt != "/" {
		c.Object(ssName, prompt).CallWithContext(ctx, ssIface+"Prompt.Dismiss", 0)
		return ErrKeychainLocked
	}
	return nil
}

// said gives an error of the service its meaning; missing is that of an object
// that is not there.
func said(err, missing error) error {
	var e dbus.Error
	if errors.As(err, &e) {
		switch e.Name {
		case "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface",
			"org.freedesktop.DBus.Error.NoSuchObject", ssIface + "Error.NoSuchObject":
			return missing
		case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut":
			return ErrKeychainSilent
		case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.Spawn.ChildExited", "org.freedesktop.DBus.Error.Spawn.ExecFailed":
			return ErrNoKeychain
		case ssIface + "Error.IsLocked":
			return ErrKeychainLocked
		}
	}
	return fmt.Errorf("the system's keychain says %w; see that it works with its own program (such as seahorse), and try again", err)
}

func attributes(account string) map[string]string {
	return map[string]string{"service": Service, "username": account}
}

func find(ctx context.Context, c *dbus.Conn, account string) ([]dbus.ObjectPath, error) {
	var items []dbus.ObjectPath
	err := c.Object(ssName, ssLogin).CallWithContext(ctx, ssIface+"Collection.SearchItems", 0, attributes(account)).Store(&items)
	if err != nil {
		return nil, said(err, ErrNoCollection)
	}
	if len(items) == 0 {
		return nil, ErrNoEntry
	}
	return items, nil
}

func (s *secretService) Get(ctx context.Context, account string) (text string, err error) {
	err = s.with(ctx, func(c *dbus.Conn, session dbus.ObjectPath) error {
		items, err := find(ctx, c, account)
		if err != nil {
			return err
		}
		if err := unlocked(ctx, c, items[0]); err != nil {
			return err
		}
		var v secret
		if err := c.Object(ssName, items[0]).CallWithContext(ctx, ssIface+"Item.GetSecret", 0, session).Store(&v); err != nil {
			return said(err, ErrNoEntry)
		}
		text = string(v.Value)
		clear(v.Value)
		return nil
	})
	return text, err
}

func (s *secretService) Set(ctx context.Context, account, text string) error {
	return s.with(ctx, func(c *dbus.Conn, session dbus.ObjectPath) error {
		properties := map[string]dbus.Variant{
			ssIface + "Item.Label":      dbus.MakeVariant("Key of the vault of Reeve"),
			ssIface + "Item.Attributes": dbus.MakeVariant(attributes(account)),
		}
		var item, prompt dbus.ObjectPath
		err := c.Object(ssName, ssLogin).CallWithContext(ctx, ssIface+"Collection.CreateItem", 0, properties,
			secret{session, []byte{}, []byte(text), "text/plain"}, true).Store(&item, &prompt)
		if err != nil {
			return said(err, ErrNoCollection)
		}
		if prompt != "/" {
			return ErrKeychainLocked
		}
		return nil
	})
}

func (s *secretService) Delete(ctx context.Context, account string) error {
	return s.with(ctx, func(c *dbus.Conn, _ dbus.ObjectPath) error {
		items, err := find(ctx, c, account)
		if err != nil {
			return err
		}
		for _, item := range items {
			var prompt dbus.ObjectPath
			if err := c.Object(ssName, item).CallWithContext(ctx, ssIface+"Item.Delete", 0).Store(&prompt); err != nil {
				return said(err, ErrNoEntry)
			}
			if prompt != "/" {
				return ErrKeychainLocked
			}
		}
		return nil
	})
}
