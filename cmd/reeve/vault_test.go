package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reeve-gate/reeve/internal/ingress/api"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// talk runs a command on a terminal of its own and types each answer once its
// prompt stands there.
func (in *rig) talk(t *testing.T, args []string, answers ...[2]string) (shown string, code int) {
	t.Helper()
	cmd := exec.Command(in.bin, args...)
	cmd.Env, cmd.Dir = in.env, in.ws
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	master.SetReadDeadline(time.Now().Add(60 * time.Second))
	var all bytes.Buffer
	seen, buf := 0, make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		all.Write(buf[:n])
		if len(answers) > 0 {
			if at := strings.Index(all.String()[seen:], answers[0][0]); at >= 0 {
				seen += at + len(answers[0][0])
				io.WriteString(master, answers[0][1]+"\n")
				answers = answers[1:]
			}
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	if len(answers) > 0 {
		t.Errorf("reeve %v never asked %q:\n%s", args, answers[0][0], all.String())
	}
	return all.String(), cmd.ProcessState.ExitCode()
}

// TestAPersonAtATerminalSeesASecretAndNobodyElse: what is typed is not shown, and
// a value is shown to who types the word; the passphrase is asked for where it is
// needed. Afterwards no file of Reeve's holds any of it.
func TestAPersonAtATerminalSeesASecretAndNobodyElse(t *testing.T) {
	in := newRig(t, "")
	const value, pass = "typed-in-secret-42", "five words are long enough"
	if shown, code := in.talk(t, []string{"vault", "init", "--passphrase"}, [2]string{"new passphrase of the vault: ", pass}, [2]string{"once more: ", pass}); code != 0 || strings.Contains(shown, pass) {
		t.Fatalf("init: %d\n%s", code, shown)
	}
	if shown, code := in.talk(t, []string{"vault", "set", "github/token"}, [2]string{"value of github/token: ", value}, [2]string{"once more: ", value + "x"}); code != 2 || !strings.Contains(shown, "not the same") {
		t.Errorf("two values: %d\n%s", code, shown)
	}
	if shown, code := in.talk(t, []string{"vault", "set", "github/token"}, [2]string{"value of github/token: ", value}, [2]string{"once more: ", value}); code != 0 || strings.Contains(shown, value) {
		t.Fatalf("set: %d\n%s", code, shown)
	}
	if err := new(api.Governed).Person(localsock.Peer{UID: os.Getuid(), PID: os.Getpid()}, api.Clients()); err != nil {
		t.Skipf("no person runs this test: %v", err)
	}
	if shown, code := in.talk(t, []string{"vault", "get", "github/token"}, [2]string{"Type show to go on: ", "no"}); code != 3 || strings.Contains(shown, value) {
		t.Errorf("get without the word: %d\n%s", code, shown)
	}
	in.run(t, nil, "vault", "lock")
	if shown, code := in.talk(t, []string{"vault", "get", "github/token"}, [2]string{"Type show to go on: ", "show"}, [2]string{"passphrase of the vault: ", pass}); code != 0 || strings.Count(shown, value) != 1 {
		t.Errorf("get: %d\n%s", code, shown)
	}
	if shown, code := in.talk(t, []string{"vault", "export", "copy"}, [2]string{"Type export to go on: ", "export"}, [2]string{"new passphrase of the copy: ", "another long passphrase"}, [2]string{"once more: ", "another long passphrase"}); code != 0 || !strings.Contains(shown, "1 secrets are in the copy") {
		t.Errorf("export: %d\n%s", code, shown)
	}
	in.run(t, nil, "vault", "rm", "github/token")
	if shown, code := in.talk(t, []string{"vault", "import", "copy"}, [2]string{"passphrase of the copy: ", "another long passphrase"}); code != 0 || !strings.Contains(shown, "1 secrets were taken over") {
		t.Errorf("import: %d\n%s", code, shown)
	}
	home := in.home()
	if err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, text := range []string{value, pass, "another long passphrase"} {
			if bytes.Contains(raw, []byte(text)) {
				t.Errorf("%s holds %q", path, text)
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
