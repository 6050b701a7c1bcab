package conformance

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/proc"
)

// hosts makes the hosts of cases: the real files and programs of a kernel
// without its policy, with channels in memory.
type hosts struct {
	runner *proc.Runner
	tasks  atomic.Uint64
}

func newHosts() (*hosts, error) {
	runner, err := proc.New(proc.Options{KernelID: fmt.Sprintf("conformance-%d", os.Getpid())})
	if err != nil {
		return nil, err
	}
	return &hosts{runner: runner}, nil
}

// host is the host of one case; trash is where rm moves things.
func (h *hosts) host(trash string) *interp.Host {
	return &interp.Host{
		Files:    host.Files{TrashDir: trash},
		Programs: host.Programs{Runner: h.runner, Task: h.tasks.Add(1)},
		Clock:    utcClock{},
		Channels: &host.Channels{},
		Watcher:  host.Watcher{},
	}
}

type utcClock struct{}

func (utcClock) Now() time.Time { return time.Now().UTC() }
