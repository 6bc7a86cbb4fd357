package roster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/clients"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/wire"
)

func mcpImport(d *Desk, args []string) int {
	f := flags(d, "mcp import")
	from := f.String("from", "", "the client whose servers are read")
	dry := f.Bool("dry-run", false, "show what would be added and add nothing")
	yes := f.Bool("yes", false, "do not ask")
	operands, code, ok := mixed(f, args)
	if !ok {
		return code
	}
	client := clients.Named(*from)
	switch {
	case *from == "gaia" && len(operands) == 1:
		return importPromotions(d, operands[0], *dry)
	case client == nil || len(operands) > 1:
		return usage(d, "mcp import takes --from claude, claude-desktop, cursor, vscode, codex or gemini, and perhaps a file; or --from gaia and a file")
	}
	found, err := foundServers(d, client, operands)
	if err != nil {
		return fail(d, err)
	}
	set, file, err := ownServers(d)
	if err != nil {
		return fail(d, err)
	}
	var add []clients.Found
	for _, one := range found {
		if one = judged(d, set, one); one.Name != "" && !one.Own {
			add = append(add, one)
		}
	}
	if len(add) == 0 {
		fmt.Fprintf(d.Stderr, "there is nothing to add to %s\n", file)
		return reeve.ExitOK
	}
	if *dry {
		return reeve.ExitOK
	}
	if !*yes {
		if code := confirm(d, fmt.Sprintf("Add %d to %s?", len(add), file)); code != reeve.ExitOK {
			return code
		}
	}
	for _, one := range add {
		if code := changeServers(d, wire.Servers{Do: "add", Server: one.Name, Entry: encoded(&one.Entry)}); code != reeve.ExitOK {
			return code
		}
	}
	fmt.Fprintf(d.Stderr, "%d added to %s; every tool of them asks until you trust it: reeve mcp trust NAME\n", len(add), file)
	return reeve.ExitOK
}

// foundServers reads the file that was named, or every file of the client that
// is there.
func foundServers(d *Desk, c *clients.Client, named []string) ([]clients.Found, error) {
	places, err := c.Files(d.Getenv, d.Dir, runtime.GOOS == "darwin")
	if err != nil {
		return nil, err
	}
	if len(named) == 1 {
		places = []clients.Place{{Path: d.absolute(named[0])}}
	}
	var all []clients.Found
	for _, p := range places {
		src, err := os.ReadFile(p.Path)
		if errors.Is(err, fs.ErrNotExist) && len(named) == 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the servers of %s: %w", c.Product, err)
		}
		found, err := c.Read(p, src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		if len(found) > 0 && p.Project {
			fmt.Fprintf(d.Stderr, "%s, of this project and perhaps written by others\n", barred(p.Path))
		} else if len(found) > 0 {
			fmt.Fprintf(d.Stderr, "%s\n", barred(p.Path))
		}
		all = append(all, found...)
	}
	return all, nil
}

// judged says what becomes of one server of a client; one that is not added
// loses its name here.
func judged(d *Desk, set *servers.Set, one clients.Found) clients.Found {
	switch {
	case one.Own:
		fmt.Fprintf(d.Stderr, "server %s is Reeve itself\n", barred(one.As))
		return one
	case one.Not != "":
		fmt.Fprintf(d.Stderr, "server %s is NOT added: %s\n", barred(one.As), barred(one.Not))
		one.Name = ""
		return one
	}
	if there, equal := same(set, one); there {
		if equal {
			fmt.Fprintf(d.Stderr, "server %s is there already\n", one.Name)
		} else {
			fmt.Fprintf(d.Stderr, "server %s is NOT added: there is another of that name already, with other settings; take one out or give it another name\n", one.Name)
		}
		one.Name = ""
		return one
	}
	set.All = append(set.All, servers.Server{Name: one.Name}) // two places of a client may hold one name
	slices.SortFunc(set.All, func(a, b servers.Server) int { return strings.Compare(a.Name, b.Name) })
	describe(d, one.Name, &one.Entry)
	for _, n := range one.Notes {
		fmt.Fprintf(d.Stderr, "  note: %s\n", barred(n))
	}
	return one
}

// same reports whether there is a server of the name already, and whether it
// is started in the same way.
func same(set *servers.Set, one clients.Found) (there, equal bool) {
	was, ok := set.Of(one.Name)
	if !ok || one.Name == "" {
		return false, false
	}
	mine, err := one.Entry.Check(one.Name)
	mine.Guard, mine.Disabled = was.Guard, was.Disabled
	return true, err == nil && reflect.DeepEqual(normal(mine), normal(was))
}

// normal is a server without the difference between nothing and empty.
func normal(s servers.Server) servers.Server {
	if len(s.Args) == 0 {
		s.Args = nil
	}
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Headers) == 0 {
		s.Headers = nil
	}
	return s
}

// importPromotions takes over which tools a person has promoted in GAIA
// (contract G25).
func importPromotions(d *Desk, file string, dry bool) int {
	src, err := readable(d, file)
	if err != nil {
		return fail(d, err)
	}
	var doc struct {
		MCP struct {
			Trusted map[string][]string `json:"trusted_tools"`
		} `json:"mcp"`
	}
	if err := json.Unmarshal(src, &doc); err != nil {
		return fail(d, fmt.Errorf("%s: %w", file, err))
	}
	set, _, err := ownServers(d)
	if err != nil {
		return fail(d, err)
	}
	for _, server := range sortedKeys(doc.MCP.Trusted) {
		if _, ok := set.Of(server); !ok {
			fmt.Fprintf(d.Stderr, "server %s is not there, so that its tools are not taken over; reeve mcp add it first\n", barred(server))
			continue
		}
		for _, tool := range doc.MCP.Trusted[server] {
			fmt.Fprintf(d.Stderr, "%s of server %s: read\n", barred(tool), server)
			if dry {
				continue
			}
			if code := changeServers(d, wire.Servers{Do: "say", Server: server, Tool: tool, Class: "read"}); code != reeve.ExitOK {
				return code
			}
		}
	}
	return reeve.ExitOK
}
