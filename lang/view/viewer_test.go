package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/value"
)

const hidden = "hunter2-öäü-hunter2"

// masking hides the one secret of these tests.
var masking = Viewer{
	Mask: func(b []byte) {
		copy(b, bytes.ReplaceAll(bytes.Clone(b), []byte(hidden), bytes.Repeat([]byte("*"), len(hidden))))
	},
	Margin: len(hidden) - 1,
}

// showsSecret reports whether three bytes of the secret are left in b.
func showsSecret(b []byte) bool {
	masking.Mask(b)
	for i := 0; i+3 <= len(hidden); i++ {
		if bytes.Contains(b, []byte(hidden[i:i+3])) {
			return true
		}
	}
	return false
}

// Whatever part of a value is shown, nothing of a secret within it is.
func TestSlicesMask(t *testing.T) {
	for _, around := range []int{0, 3, 200} {
		whole := strings.Repeat("é", around) + hidden + strings.Repeat("x", around)
		for name, v := range map[string]value.Value{
			"str": value.Str(whole), "bytes": text(whole), "blob": blobOf(whole), "path": value.Path(whole),
		} {
			n := int64(len(whole))
			if chars, _ := length(v); name == "str" {
				n = chars
			}
			for start := int64(0); start <= n; start++ {
				for _, end := range []int64{start + 1, start + 4, start + 20, start + 60, n} {
					if end = min(end, n); end < start {
						continue
					}
					at := fmt.Sprintf("%s with %d round the secret, %d..%d", name, around, start, end)
					raw, err := masking.Raw(v, &[2]int64{start, end})
					if err != nil || showsSecret(raw.Data) {
						t.Fatalf("%s: %q, %v", at, raw.Data, err)
					}
					if name == "path" {
						continue
					}
					part, err := masking.Slice(v, start, end)
					stepped, stepErr := masking.At(value.NewList([]value.Value{v}), fmt.Sprintf("[0][%d..%d]", start, end))
					want, wantErr := plain.Slice(v, start, end)
					if err != nil || stepErr != nil || wantErr != nil {
						t.Fatalf("%s: %v, %v, %v", at, err, stepErr, wantErr)
					}
					for _, part := range []value.Value{part, stepped} {
						got := content(t, part)
						if len(got) != len(content(t, want)) || showsSecret(got) {
							t.Fatalf("%s: %q", at, got)
						}
					}
				}
			}
		}
	}
}

// content are the bytes of a str or bytes value.
func content(t *testing.T, v value.Value) []byte {
	t.Helper()
	if v.Kind() == value.KindStr {
		return []byte(v.AsStr())
	}
	all, err := v.AsBytes().All(v.AsBytes().Len())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(all)
}

// A piece of raw text ends within a secret.
func TestRawPiecesMask(t *testing.T) {
	whole := strings.Repeat("x", RawPiece-5) + hidden
	for name, v := range map[string]value.Value{"str": value.Str(whole), "bytes": text(whole)} {
		first, err := masking.Raw(v, &[2]int64{0, 1 << 40})
		if err != nil || first.Next == 0 {
			t.Fatalf("%s: next %d, %v", name, first.Next, err)
		}
		rest, err := masking.Raw(v, &[2]int64{first.Next, 1 << 40})
		if err != nil || showsSecret(first.Data[RawPiece-10:]) || showsSecret(rest.Data) {
			t.Errorf("%s: %q, then %q, %v", name, first.Data[RawPiece-10:], rest.Data, err)
		}
	}
}

// The previews of what is elided end wherever they do.
func TestPreviewsMask(t *testing.T) {
	for before := previewText - len(hidden) - 2; before < previewText+2; before++ {
		whole := strings.Repeat("x", before) + hidden + strings.Repeat("y", 20000)
		for name, v := range map[string]value.Value{
			"str": value.Str(whole), "bytes": text(whole), "path": value.Path(whole), "blob": blobOf(whole),
			"list": value.NewList([]value.Value{value.Str(whole)}), "outcome": okOutcome(whole),
			"line": value.Str(whole[previewText-headLine:]), "error": value.NewError(&value.Error{Msg: "m", HasStderr: true, Stderr: strings.Repeat("y", 5000) + hidden + strings.Repeat("z", maxErrText/6-previewText+before-len(hidden))}),
		} {
			b, _ := masking.Wire(v, Limits{}, out17)
			if showsSecret(b) {
				t.Fatalf("%s with %d bytes before the secret: %s", name, before, b)
			}
		}
	}
}
