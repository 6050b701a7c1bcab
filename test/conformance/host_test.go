package conformance

import (
	"context"
	"fmt"
	"os"
	"sync"
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
		Channels: &memoryChannels{latest: map[string][]byte{}},
	}
}

type utcClock struct{}

func (utcClock) Now() time.Time { return time.Now().UTC() }

type memoryChannels struct {
	mu     sync.Mutex
	latest map[string][]byte
}

func (m *memoryChannels) Emit(_ context.Context, channel string, payload []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest[channel] = payload
	return nil
}

func (m *memoryChannels) Latest(_ context.Context, channel string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest[channel], nil
}
