package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"shoal.dev/shoal/lang/value"
)

// vault is a store with a file for each pair of a name and a text.
func vault(t *testing.T, pairs ...string) *Secrets {
	t.Helper()
	s := &Secrets{Dir: t.TempDir()}
	for i := 0; i < len(pairs); i += 2 {
		if err := os.WriteFile(filepath.Join(s.Dir, pairs[i]), []byte(pairs[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestSecret(t *testing.T) {
	s := vault(t, "token", "hunter2hunter2\n", "two", "a\n\n", "raw", "\xff\xfe", "empty", "", "open", "x", "big", strings.Repeat("x", maxSecret+1))
	os.Chmod(filepath.Join(s.Dir, "open"), 0o640)
	os.Mkdir(filepath.Join(s.Dir, "dir"), 0o700)
	os.Symlink("token", filepath.Join(s.Dir, "link"))
	for _, c := range []struct{ name, want, code string }{
		{"token", "hunter2hunter2", ""}, {"two", "a\n", ""}, {"raw", "\xff\xfe", ""}, {"empty", "", ""},
		{"none", "", value.CodeNotFound}, {"", "", value.CodeNotFound}, {"../token", "", value.CodeNotFound},
		{".hidden", "", value.CodeNotFound}, {"dir", "", value.CodePermission}, {"link", "", value.CodePermission},
		{"open", "", value.CodePermission}, {"big", "", value.CodePermission},
	} {
		got, err := s.Secret(context.Background(), c.name)
		code := ""
		if e, ok := err.(*value.Error); ok {
			code = e.Code
		}
		if string(got) != c.want || code != c.code {
			t.Errorf("%q: got %q, %v, want %q, %s", c.name, got, err, c.want, c.code)
		}
	}
	if _, err := new(Secrets).Secret(context.Background(), "token"); err == nil {
		t.Error("a store without directory has a secret")
	}
}

func TestMask(t *testing.T) {
	s := vault(t, "token", "hunter2hunter2", "long", "hunter2hunter2 and more", "quoted", `say "hi"`, "short", "abc", "n", "123456")
	text := func() string {
		b := []byte(`hunter2hunter2, hunter2hunter2 and more; say "hi", {"a":"say \"hi\""} abc 123456 hunter2`)
		s.Mask(b)
		return string(b)
	}
	before := text()
	if !strings.HasPrefix(before, "hunter2hunter2") {
		t.Errorf("masked before anybody asked for it: %s", before)
	}
	for _, name := range []string{"token", "long", "quoted", "short", "n"} {
		if _, err := s.Secret(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	want := `***token******, ***long****************; ********, {"a":"**********"} *** ****** hunter2`
	if got := text(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "token"), []byte("another secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Secret(context.Background(), "token"); err != nil {
		t.Fatal(err)
	}
	for _, was := range []string{"another secret", "hunter2hunter2"} {
		own := []byte(was)
		if got := s.Masked(own); string(got) != "***token******" || string(own) != was {
			t.Errorf("%s: masked %s, original %s", was, got, own)
		}
	}
}

// What programs make of a secret on the way is masked too.
func TestMaskSpellings(t *testing.T) {
	const secret = "p@ss/wörd \"1\" & more"
	s := vault(t, "token", secret, "key", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----\n", "pin", "4711", "no", "ab")
	for _, name := range []string{"token", "key", "pin", "no"} {
		if _, err := s.Secret(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	once, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(once))
	for name, text := range map[string]string{
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 of a header": base64.StdEncoding.EncodeToString([]byte("user:" + secret + "\n")),
		"base64 further on": base64.URLEncoding.EncodeToString([]byte("x-" + secret + "?")),
		"hex":               hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"query": "a=" + url.QueryEscape(secret), "path": "/" + url.PathEscape(secret), "small escapes": strings.ToLower(url.PathEscape(secret)),
		"json": string(once), "json in json": string(twice), "ascii json": `"p@ss/w\u00f6rd \"1\" & more"`, "a line": "  MIIEvQIBADANBgkqhkiG\r\n",
		"a word": "pin: 4711.", "at the edges": "4711",
	} {
		b := []byte(text)
		s.Mask(b)
		if len(b) != len(text) || !bytes.Contains(b, []byte("***")) && string(b) != "****" {
			t.Errorf("%s: %q became %q", name, text, b)
		}
		for _, part := range []string{"rd%20", "wörd", "7761", "MIIEv", "4711", "w\\u00f6rd"} {
			if bytes.Contains(b, []byte(part)) {
				t.Errorf("%s: %q shows %q", name, b, part)
			}
		}
	}
	for _, text := range []string{"54711", "4711a", "ab", "-----BEGIN KEY", "p@ss/w", ""} {
		b := []byte(text)
		if s.Mask(b); string(b) != text {
			t.Errorf("%q became %q", text, b)
		}
	}
}

// Encoded text is found wherever base64, openssl and xxd break it into lines.
func TestMaskLines(t *testing.T) {
	const secret = "a secret of 41 bytes, as tokens often are"
	s := vault(t, "token", secret)
	if _, err := s.Secret(context.Background(), "token"); err != nil {
		t.Fatal(err)
	}
	for before := range 120 {
		text := strings.Repeat("x", before) + secret + "."
		for name, encoded := range map[string]string{
			"base64": base64.StdEncoding.EncodeToString([]byte(text)), "hex": hex.EncodeToString([]byte(text)),
		} {
			for _, width := range []int{60, 64, 76} {
				for _, ends := range []string{"\n", "\r\n", "\n    ", `\n`, `\\r\\n`} {
					b := []byte(inLines(encoded, width, ends))
					n := len(b)
					s.Mask(b)
					if len(b) != n || strings.Count(string(b), "***token***") != 1 {
						t.Fatalf("%s after %d bytes in lines of %d that end in %q: %s", name, before, width, ends, b)
					}
					left := strings.NewReplacer("***token***", "", "*", "").Replace(string(b))
					if got, want := len(strings.ReplaceAll(left, ends, "")), len(encoded); got > want-len(secret)*4/3+2 {
						t.Fatalf("%s after %d bytes in lines of %d that end in %q shows more than what is round it: %s", name, before, width, ends, b)
					}
				}
			}
		}
	}
	for _, text := range []string{"x" + inLines(base64.StdEncoding.EncodeToString([]byte(secret)), 7, "\n"), "a secret of\n41 bytes, as tokens often are"} {
		if b := s.Masked([]byte(text)); string(b) != text {
			t.Errorf("%q became %q", text, b)
		}
	}
}

// inLines breaks a text into lines of width characters.
func inLines(text string, width int, ends string) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + ends)
		text = text[width:]
	}
	return b.String() + text
}

// Where a text was cut, what is left of a secret is hidden too.
func TestMaskCuts(t *testing.T) {
	const secret = `hunter2 "and" more`
	s := vault(t, "token", secret, "pin", "4711")
	for _, name := range []string{"token", "pin"} {
		if _, err := s.Secret(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	inJSON := func(text string) string { return quoted(text, false) }
	for n := minToken; n <= len(secret)-minToken; n++ {
		first, rest := secret[:n], secret[n:]
		if rest[0] == ' ' { // it looks like the indentation of a line
			continue
		}
		for _, c := range [][3]string{
			{"say ", first, "… and"}, {"", first, "\n…(3 lines)"}, {`{"v":"`, inJSON(first), `…"}`}, {`"`, inJSON(first), `\n…"`},
			{"…", rest, " and"}, {"…\n", rest, ""}, {"… x…", rest, "…"}, {`["…`, inJSON(rest), `"]`}, {`"…\n`, inJSON(rest), `"`},
		} {
			got := s.Masked([]byte(strings.Join(c[:], "")))
			if want := c[0] + string(maskFor("token", len(c[1]))) + c[2]; string(got) != want {
				t.Errorf("%q became %q, want %q", c, got, want)
			}
		}
	}
	for _, text := range []string{"hu…", "…re", "47…", "…711", "hunter2", "hunter …", "…"} {
		if b := s.Masked([]byte(text)); string(b) != text {
			t.Errorf("%q became %q", text, b)
		}
	}
}

// The end of a secret that has an ellipsis itself is hidden whole, and a text of
// many cuts is gone through once, whatever the length of secrets: looked through
// anew behind each, this one takes minutes.
func TestMaskManyCuts(t *testing.T) {
	s := vault(t, "dotted", "hunter2…and more")
	if _, err := s.Secret(context.Background(), "dotted"); err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.Masked([]byte("say …ter2…and more"))), "say …"+string(maskFor("dotted", len("ter2…and more"))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s = vault(t, "long", strings.Repeat("a long secret ", 200))
	if _, err := s.Secret(context.Background(), "long"); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("…", 4<<20)
	if got := s.Masked([]byte(text)); string(got) != text {
		t.Error("cuts became something else")
	}
}

// Secrets that overlap are hidden from the first to the last.
func TestMaskOverlap(t *testing.T) {
	s := vault(t, "a", "abcdefgh", "b", "efghijkl")
	for _, name := range []string{"a", "b"} {
		if _, err := s.Secret(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	b := []byte("<abcdefghijkl> <efghijkl> <abcdefghabcdefgh>")
	if s.Mask(b); string(b) != "<***a********> <***b****> <***a*******a****>" {
		t.Errorf("got %s", b)
	}
}

// Secrets are found wherever the pieces that are read end.
func TestMaskReader(t *testing.T) {
	s := vault(t, "token", "hunter2hunter2", "other", "0123456789")
	plain := bytes.Repeat([]byte("x"), maskPiece-7)
	in := append(append(append(plain, "hunter2hunter2"...), plain...), "y hunter2hunter2"...)
	if got, _ := io.ReadAll(s.MaskReader(bytes.NewReader(in))); !bytes.Equal(got, in) {
		t.Error("changed before a secret is known")
	}
	for _, name := range []string{"token", "other"} {
		if _, err := s.Secret(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	want := bytes.ReplaceAll(in, []byte("hunter2hunter2"), []byte("***token******"))
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(in), "halves": iotest.HalfReader(bytes.NewReader(in)), "bytes": iotest.OneByteReader(bytes.NewReader(in)),
	} {
		got, err := io.ReadAll(s.MaskReader(r))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(want))
		}
	}
	if _, err := io.ReadAll(s.MaskReader(iotest.ErrReader(io.ErrClosedPipe))); err == nil {
		t.Error("an error is lost")
	}
}
