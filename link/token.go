package link

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxToken bounds what is read of a token file.
const maxToken = 4 << 10

// Token reads the bearer token: from the file if one is named, else from
// SHOAL_TOKEN in environ; empty means none.
func Token(file string, environ []string) (string, error) {
	if file == "" {
		return getenv(environ, "SHOAL_TOKEN"), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("read token: %s is empty", file)
	}
	return token, nil
}
