package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"
)

// config is shoal.toml. Flags and environment win over it.
type config struct {
	Kernel struct {
		NATS         string `toml:"nats"`
		MCPHTTP      string `toml:"mcp_http"`
		Policy       string `toml:"policy"`
		RequireToken bool   `toml:"require_token"`
		SocketGroup  string `toml:"socket_group"`
		PTYEngine    string `toml:"pty_engine"`
	} `toml:"kernel"`
	Journal struct {
		Sync string `toml:"sync"` // "effects" or "always"
	} `toml:"journal"`
	Limits struct {
		ResidentBytes int64 `toml:"resident_bytes"`
	} `toml:"limits"`
}

// configPath is where the configuration is; empty means nowhere.
func (o *Options) configPath() string {
	if o.ConfigDir == "" {
		return ""
	}
	return filepath.Join(o.ConfigDir, "shoal.toml")
}

// applyConfig fills what the options leave open from shoal.toml. Unknown keys
// are returned for a warning.
func (o *Options) applyConfig() (unknown []string, err error) {
	path := o.configPath()
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var c config
	meta, err := toml.Decode(string(raw), &c)
	if err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("configuration %s: line %d: %s", path, syntax.Position.Line, syntax.Message)
		}
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	for _, key := range meta.Undecoded() {
		unknown = append(unknown, key.String())
	}
	return unknown, o.merge(path, c)
}

func (o *Options) merge(path string, c config) error {
	if o.NATS == "" {
		o.NATS = c.Kernel.NATS
	}
	if o.MCPHTTP == "" {
		o.MCPHTTP = c.Kernel.MCPHTTP
	}
	if o.Policy == "" && c.Kernel.Policy != "" {
		o.Policy = c.Kernel.Policy
		if !filepath.IsAbs(o.Policy) {
			o.Policy = filepath.Join(filepath.Dir(path), o.Policy)
		}
	}
	o.RequireToken = o.RequireToken || c.Kernel.RequireToken
	if o.SocketGroup == "" {
		o.SocketGroup = c.Kernel.SocketGroup
	}
	if o.PTYEngine == "" {
		o.PTYEngine = c.Kernel.PTYEngine
	}
	switch c.Journal.Sync {
	case "", "effects":
	case "always":
		o.SyncAlways = true
	default:
		return fmt.Errorf("configuration %s: journal.sync is %q; it must be \"effects\" or \"always\"", path, c.Journal.Sync)
	}
	if c.Limits.ResidentBytes < 0 {
		return fmt.Errorf("configuration %s: limits.resident_bytes is %d; it must not be negative", path, c.Limits.ResidentBytes)
	}
	if o.ResidentLimit == 0 {
		o.ResidentLimit = c.Limits.ResidentBytes
	}
	return nil
}
