package link

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The test binary is also the programs that the tests start: by the name under
// which it is called.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "shoal-kernel":
		os.Exit(fakeKernel(os.Args[1:]))
	case "shoal-mcp":
		os.Exit(relayProcess())
	case "wrapper":
		os.Exit(wrapperProcess())
	}
	os.Exit(m.Run())
}

// relayProcess is what cmd/shoal-mcp does, with its options in the environment.
func relayProcess() int {
	out, err := TakeStdout()
	if err != nil {
		return 3
	}
	os.Stdout.WriteString("stray output, which belongs on stderr\n")
	o := Options{Environ: os.Environ(), Cwd: "/", Kernel: os.Getenv("TEST_KERNEL")}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return Relay{In: os.Stdin, Out: out, Log: log, Options: o}.Run(context.Background())
}

// wrapperProcess starts a relay on pipes and waits to be killed.
func wrapperProcess() int {
	relay := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), "shoal-mcp"))
	relay.StdinPipe()
	relay.StdoutPipe()
	if relay.Start() != nil {
		return 3
	}
	os.Stdout.WriteString(itoa(relay.Process.Pid) + "\n")
	relay.Wait()
	return 0
}
