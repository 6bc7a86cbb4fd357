// Package packages recognises the released package that an MCP server is
// started from, and says what is known of where it comes from (contract G26).
//
// A server's command is often that of a package runner: npx, npm exec, pnpm
// dlx, yarn dlx, bunx, uvx, uv tool run, pipx run, docker run, podman run,
// deno run. [Of] reads such a command line into a [Launch]: which registry,
// which package, which version, whether scripts of the package may run when it
// is installed. It runs nothing and asks nobody. What it cannot read for
// certain it calls unclear: an unknown flag before the package may take the
// next word for its value.
//
// [Launch.Publisher] tells known publishers from others. The scope of a name is
// a hint of who published it and no proof; the proof of a package is its
// integrity ([Lock]), which stands in the registry's own data for one version
// and is compared with what was installed.
//
// The package is pure.
package packages
