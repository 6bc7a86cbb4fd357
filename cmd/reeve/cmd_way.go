package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/egress"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// cmdWay joins its streams to a host through the proxy of the boundary it runs
// in: ssh starts it as its ProxyCommand.
func cmdWay(env *cmdEnv, args []string) int {
	if len(args) != 2 {
		return usage(env, "it takes HOST PORT")
	}
	host, port, err := netguard.HostPort(bracketed(args[0])+":"+args[1], 0)
	if err != nil {
		return usage(env, "%v", err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := egress.Relay(ctx, jail.ProxyAddr, host, port, env.Stdin, env.Stdout); err != nil {
		fmt.Fprintf(env.Stderr, "reeve: %v\n", err)
		return reeve.ExitFailed
	}
	return reeve.ExitOK
}

// bracketed puts an IPv6 address into the form in which a port may follow.
func bracketed(host string) string {
	for i := range len(host) {
		if host[i] == ':' && host[0] != '[' {
			return "[" + host + "]"
		}
	}
	return host
}
