package host

import (
	"context"
	"errors"
	"os"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/value"
)

// Config is a configuration file in TOML, read anew for each snapshot.
type Config struct{ Path string }

// Snapshot is the file as a record; one that is not there is empty.
func (c Config) Snapshot(context.Context) (value.Value, error) {
	text, err := os.ReadFile(c.Path)
	if errors.Is(err, os.ErrNotExist) || c.Path == "" {
		return value.NewRecord(value.EmptyShape, nil), nil
	}
	if err != nil {
		return value.Null, value.Errorf(value.CodeIO, "read configuration: %v", err)
	}
	v, err := builtin.ParseTOML(string(text))
	if err != nil {
		return value.Null, value.Errorf(value.CodeIO, "configuration %s: %v", c.Path, err)
	}
	return v, nil
}
