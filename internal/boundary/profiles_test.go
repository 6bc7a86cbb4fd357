package boundary

import (
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/config"
)

// TestWhatAProfileCannotBeIsSaid: each fault names the profile and the key.
func TestWhatAProfileCannotBeIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		`[sandbox.profiles.agent]` + "\nlike = \"strict\"":                                      "sandbox.profiles.agent: a built-in profile has this name",
		`[sandbox.profiles.x]`:                                                                  "sandbox.profiles.x: say which built-in profile",
		`[sandbox.profiles.x]` + "\nlike = \"loose\"":                                           `like: unknown sandbox profile "loose"`,
		`[sandbox.profiles."a b"]` + "\nlike = \"agent\"":                                       "sandbox.profiles.a b: name",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nnet = \"sideways\"":                       `net is "sideways"`,
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nhosts = [\"https://a.example\"]":          "hosts: ",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nhosts = [\"*.com\"]":                      "hosts: ",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nhosts = [\"169.254.169.254:80\"]":         "never dialled",
		`[sandbox.profiles.x]` + "\nlike = \"strict\"\nhosts = [\"a.example\"]":                 `net = "ask"`,
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nwrite = [\"notes\"]":                      "is not an absolute path",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nwrite = [\"/home/somebody/../somebody\"]": "holds all your files",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\npass_env = [\"A=b\"]":                     "pass_env",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nmemory = \"1MiB\"":                        "memory is 1MiB",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nprocesses = 2":                            "processes is 2",
		`[sandbox.profiles.x]` + "\nlike = \"agent\"\nprocessors = \"many\"":                    "processors",
	} {
		c, err := config.Parse("config.toml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := Profiles(c, "/home/somebody"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v, want %q", text, err, want)
		}
	}
}
