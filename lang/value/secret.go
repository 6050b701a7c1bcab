package value

import (
	"fmt"
	"unsafe"
)

// Secret is the object behind a secret. Its text is reachable through Reveal
// only: no formatting, encoding or rendering shows it.
type Secret struct {
	kind Kind
	Name string
	text string
}

// NewSecret makes a secret.
func NewSecret(name, text string) Value {
	return Value{unsafe.Pointer(&Secret{KindSecret, name, text}), 0}
}

// AsSecret is the object behind a secret.
func (v Value) AsSecret() *Secret { return (*Secret)(v.p) }

// Reveal is the secret text, for injection into a child or a header.
func (s *Secret) Reveal() string { return s.text }

// String is "secret(name)".
func (s *Secret) String() string { return "secret(" + s.Name + ")" }

// Format makes every verb show String.
func (s *Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalJSON shows String.
func (s *Secret) MarshalJSON() ([]byte, error) { return AppendJSONString(nil, s.String()), nil }
