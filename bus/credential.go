package bus

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
)

// credentials are what nats.json holds. Whoever can read the file may listen on
// the principal's behalf.
type credentials struct {
	KernelID  string `json:"kernel_id"`
	URL       string `json:"url"`
	Principal string `json:"principal,omitempty"`
	login
}

type login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

func newPassword() string { return rand.Text() }

func credentialPath(dir string) string { return filepath.Join(dir, "nats.json") }

// loadCredentials reads what the last kernel wrote, so that listeners find the
// next one where the last one was. A file that is missing, that is not JSON, or
// that others may read yields none: new ones are made.
func loadCredentials(dir string) (credentials, error) {
	var c credentials
	path := credentialPath(dir)
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read nats credentials: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return c, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read nats credentials: %w", err)
	}
	if json.NewDecoder(bytes.NewReader(b)).Decode(&c) != nil || c.Password == "" {
		return credentials{}, nil
	}
	return c, nil
}

// port is the port of the last listener; 0 when there was none.
func (c credentials) port() int {
	u, err := url.Parse(c.URL)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// saveCredentials replaces the file as a whole; only its owner may read it.
func saveCredentials(dir string, c credentials) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write nats credentials: %w", err)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write nats credentials: %w", err)
	}
	f, err := os.CreateTemp(dir, ".nats-*.json") // 0600 from the start
	if err != nil {
		return fmt.Errorf("write nats credentials: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write nats credentials: %w", err)
	}
	if err := os.Rename(f.Name(), credentialPath(dir)); err != nil {
		return fmt.Errorf("write nats credentials: %w", err)
	}
	return nil
}
