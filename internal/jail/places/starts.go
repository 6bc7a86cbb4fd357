// Package places knows the places of a home directory and a machine that a
// boundary must close: those that hold credentials, which are hidden, and those
// from which programs outside start others, which nothing inside may change.
package places

import (
	"iter"
	"path/filepath"
	"strings"
)

// starters has the programs, and what each reads below the home directory when
// a person next uses it: what a run writes there would run with the person's
// rights, beyond every boundary. What is hidden as a store is not repeated.
const starters = `
the shell       | .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_completion .profile .login .cshrc .tcshrc .kshrc .inputrc
the shell       | .zshrc .zshenv .zprofile .zlogin .zlogout .oh-my-zsh .config/zsh .config/fish .local/share/fish .config/nushell .config/elvish .config/xonsh .config/starship.toml .local/share/bash-completion
the PATH        | bin .local/bin .cargo/bin .cargo/env .local/share/pipx
git             | .gitconfig .config/git
hg              | .hgrc .config/hg
jj              | .jjconfig.toml .config/jj
systemd         | .config/systemd .local/share/systemd .config/environment.d .config/user-tmpfiles.d
the desktop     | .config/autostart .config/autostart-scripts .config/plasma-workspace .local/share/applications .local/share/dbus-1 .local/share/gnome-shell .config/mimeapps.list .mailcap
the desktop     | .xinitrc .xsession .xsessionrc .xprofile .pam_environment .config/sway .config/hypr .config/niri .config/i3 .i3 .config/openbox .config/awesome .config/bspwm .config/sxhkd .config/waybar
the Mac         | Library/LaunchAgents Library/LaunchDaemons Library/Services
tmux            | .tmux.conf .tmux .config/tmux
screen          | .screenrc
the terminal    | .config/kitty .config/alacritty .config/wezterm .wezterm.lua .config/ghostty .config/foot .config/zellij
direnv          | .config/direnv .local/share/direnv .direnvrc
mise            | .config/mise .local/share/mise
asdf            | .asdfrc .asdf
vi              | .vim .vimrc .gvimrc .exrc .config/nvim .local/share/nvim
emacs           | .emacs .emacs.d .config/emacs
the editor      | .nanorc .config/Code .config/VSCodium .config/Cursor .vscode .vscode-server .config/zed .config/helix .config/sublime-text .config/JetBrains .local/share/JetBrains
an agent        | .cursor .continue .windsurf .roo .config/opencode .opencode .mcp.json
npm             | .config/npm .bunfig.toml .config/yarn .config/pnpm
pip             | .pip .config/pip .config/uv .config/pypoetry .condarc
python          | .local/lib .pdbrc .ipython .config/ipython .jupyter
cargo           | .cargo/config .cargo/config.toml
go              | .config/go
gem             | .gemrc .irbrc .pryrc .bundle
maven           | .mavenrc .m2/extensions.xml
gradle          | .gradle/init.gradle .gradle/init.gradle.kts .gradle/init.d
R               | .Rprofile .Renviron
the debugger    | .gdbinit .config/gdb .gdbearlyinit .lldbinit
ansible         | .ansible.cfg .ansible/plugins
curl and wget   | .curlrc .wgetrc
psql and sqlite | .psqlrc .sqliterc .config/sqlite3
less            | .lessfilter .lesskey
latexmk         | .latexmkrc .config/latexmk
`

// movedStarts are the variables that put a directory of the table elsewhere.
var movedStarts = map[string]string{".config": "XDG_CONFIG_HOME", ".local/share": "XDG_DATA_HOME", ".cargo": "CARGO_HOME"}

// ofMachine are those of the machine, which matter where it is root who runs
// something, or where a person was given such a directory.
const ofMachine = `
the PATH        | /usr/bin /usr/sbin /usr/games /usr/local/bin /usr/local/sbin /snap/bin /opt/homebrew/bin /home/linuxbrew/.linuxbrew/bin
every program   | /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/local/lib /usr/local/libexec
the machine     | /etc /boot /run/systemd /run/udev /usr/local/etc /private/etc
the desktop     | /usr/share/applications /usr/share/dbus-1 /usr/share/polkit-1 /usr/local/share/applications /usr/local/share/dbus-1
cron            | /var/spool/cron /var/spool/anacron /var/spool/at /var/spool/incron
the Mac         | /Library
`

// Start is a path, present or not, and what starts something from it.
type Start struct{ Path, By string }

// Starts are those of one home directory, where getenv says where else a
// program looks; each as it is spelled, with whatever links are in it.
func Starts(home string, getenv func(string) string) (all []Start) {
	for name, by := range table(starters) {
		all = append(all, Start{filepath.Join(home, name), by})
		for dir, variable := range movedStarts {
			if rest, below := strings.CutPrefix(name, dir+"/"); below && filepath.IsAbs(getenv(variable)) {
				all = append(all, Start{filepath.Join(getenv(variable), rest), by})
			}
		}
	}
	return all
}

// OfMachine are those of the machine, by absolute path.
func OfMachine() (all []Start) {
	for name, by := range table(ofMachine) {
		all = append(all, Start{name, by})
	}
	return all
}

// table gives each name of a table, and what its line begins with.
func table(text string) iter.Seq2[string, string] {
	return func(yield func(name, by string) bool) {
		for line := range strings.Lines(text) {
			by, names, _ := strings.Cut(line, "|")
			for name := range strings.FieldsSeq(names) {
				if !yield(name, strings.TrimSpace(by)) {
					return
				}
			}
		}
	}
}
