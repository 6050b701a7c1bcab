// Command shoal-launch is the small program that confines what it starts. It
// links nothing of the kernel, so that starting it stays cheap. At present it
// can only say what this machine offers for confinement, by trying it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// version is set by the linker.
var version string

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

const help = `usage: shoal-launch probe | --version | --help

probe   try which means of confinement this machine offers and print them as
        JSON: user namespaces, Landlock and its version, seccomp
`

// run is the whole command; its result is the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprint(stderr, help)
		return 2
	}
	switch args[0] {
	case "probe":
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(probe()); err != nil {
			fmt.Fprintf(stderr, "error: %v\n", err)
			return 1
		}
		return 0
	case "--version":
		fmt.Fprintf(stdout, "shoal-launch %s\n", build())
		return 0
	case "--help", "-h":
		fmt.Fprint(stdout, help)
		return 0
	default:
		fmt.Fprintf(stderr, "error: unknown command %q\n%s", args[0], help)
		return 2
	}
}

func build() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// means is what a machine offers. Each answer comes from doing it, not from
// version numbers.
type means struct {
	UserNamespaces bool   `json:"user_namespaces"`
	Landlock       int    `json:"landlock_abi"` // 0: none
	Seccomp        bool   `json:"seccomp"`
	Tier           string `json:"tier"` // ns, landlock or none
}
