// Command forge compiles the first process of a boundary (package first) for
// every architecture that has a system call table, and writes beside each
// other, in the current directory or the one named as its argument: the
// compressed programs, and toolchain.txt with the version of Go and the
// SHA-256 of each program before it was compressed.
//
// The same sources and the same version of Go give the same bytes, wherever
// they are built.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

func main() {
	log.SetFlags(0)
	to := "."
	if len(os.Args) > 1 {
		to = os.Args[1]
	}
	notes := runtime.Version() + "\n"
	for _, arch := range []string{"amd64", "arm64"} {
		program := build(arch)
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := w.Write(program); err != nil {
			log.Fatal(err)
		}
		if err := w.Close(); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, "first_"+arch+".gz"), packed.Bytes(), 0o644); err != nil {
			log.Fatal(err)
		}
		notes += fmt.Sprintf("%x %s\n", sha256.Sum256(program), arch)
	}
	if err := os.WriteFile(filepath.Join(to, "toolchain.txt"), []byte(notes), 0o644); err != nil {
		log.Fatal(err)
	}
}

// build compiles one, without anything of the place where it is done.
func build(arch string) []byte {
	dir, err := os.MkdirTemp("", "reeve-forge-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "first")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", out, "github.com/reeve-gate/reeve/internal/jail/first")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GO111MODULE=on", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		log.Fatalf("build for %s: %v", arch, err)
	}
	program, err := os.ReadFile(out)
	if err != nil {
		log.Fatal(err)
	}
	return program
}
