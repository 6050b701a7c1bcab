package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"shoal.dev/shoal/leash"
)

// policyHolder is the policy in force, replaced whole.
type policyHolder struct {
	file     string
	explicit bool
	now      atomic.Pointer[leash.Policy]
}

// newPolicy loads the policy that the options name.
func newPolicy(o Options) (*policyHolder, error) {
	h := &policyHolder{file: o.Policy, explicit: o.Policy != ""}
	if !h.explicit && o.ConfigDir != "" {
		h.file = filepath.Join(o.ConfigDir, "policy.toml")
	}
	return h, h.reload()
}

// reload reads the file again. A bad or missing file leaves what is in force.
func (h *policyHolder) reload() error {
	p := leash.Default()
	if h.file != "" {
		loaded, err := leash.Load(h.file)
		switch {
		case err == nil:
			p = loaded
		case h.explicit || !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	h.now.Store(p)
	return nil
}

func (h *policyHolder) get() *leash.Policy { return h.now.Load() }
