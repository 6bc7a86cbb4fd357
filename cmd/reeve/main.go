// Command reeve is the one gate through which everything an AI agent does on
// this machine must pass. Run reeve help for its commands.
package main

import (
	"fmt"
	"io"
	"os"
)

// cmdEnv is what a command may know of the world outside its arguments.
type cmdEnv struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Dir            string // working directory, absolute
	Getenv         func(string) string
}

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "reeve: find the working directory: %v\n", err)
		os.Exit(1)
	}
	stdout, stderr := newScreen(os.Stdout), newScreen(os.Stderr)
	code := dispatch(&cmdEnv{os.Stdin, stdout, stderr, dir, os.Getenv}, os.Args[1:])
	stdout.Close()
	stderr.Close()
	os.Exit(code)
}
