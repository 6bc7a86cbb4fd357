// Package naive is an MCP gateway as one is written in an afternoon on the
// official SDK: it asks its server for the tools, offers them as its own, and
// hands each call on. It judges and records nothing, and is what the gateway of
// Reeve is measured against.
package naive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Env names the program that [Main] stands in front of.
const Env = "REEVE_NAIVE"

// Main serves standard input and output in front of the server that the
// environment names, and does not return then. A test program calls it before
// its tests.
func Main() {
	server := os.Getenv(Env)
	if server == "" {
		return
	}
	os.Unsetenv(Env)
	if err := Serve(context.Background(), exec.Command(server)); err != nil {
		fmt.Fprintln(os.Stderr, "naive:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Serve stands in front of one server until standard input ends.
func Serve(ctx context.Context, cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "naive", Version: "1"}, nil)
	up, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	defer up.Close()
	down := mcp.NewServer(&mcp.Implementation{Name: "naive", Version: "1"}, nil)
	for tool, err := range up.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools: %w", err)
		}
		down.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return up.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	if err := down.Run(ctx, &mcp.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
