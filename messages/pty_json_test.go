package messages

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// filled sets every field below v to something that is not zero.
func filled(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			filled(t, v.Index(i))
		}
	case reflect.String:
		v.SetString("\"quoted\" \\ 世界 <b>&\x01\b\f\n\r\t\u2028 and more text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Uint64:
		v.SetUint(1<<64 - 1)
	default:
		t.Fatalf("no value for a field of type %s", v.Type())
	}
}

func TestScreensAreWrittenAsEncoded(t *testing.T) {
	var full Screen
	filled(t, reflect.ValueOf(&full).Elem())
	sparse := Screen{Lines: []string{}, Exit: &PTYExit{}, PTYLines: &PTYLines{Text: []string{}}, PTYAttrs: &PTYAttrs{Runs: []PTYRun{}}}
	for _, s := range []Screen{full, sparse, {}} {
		for _, v := range []interface{ AppendJSON([]byte) []byte }{
			s, PTYSent{PTY: "pty:1", BytesSent: 3, Warnings: []string{"a", "b\""}, Blocked: true, Screen: &s}, PTYSent{},
		} {
			if got, want := string(v.AppendJSON(nil)), string(JSON(v)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain text of some length", "01234567\"", "0123456\\89", "\x1f234567\x7f", "世界\u2029", "a\xffb\xe4\xb8", "\x80\x80\x80\x80\x80\x80\x80\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.ReplaceAll(string(JSON(s)), `\ufffd`, "\ufffd")
		if strings.Contains(s, `\ufffd`) {
			return // which the line above cannot tell from its own
		}
		got := AppendString(nil, s)
		if string(got) != want {
			t.Errorf("%q is written as %s, not %s", s, got, want)
		}
		if !json.Valid(got) {
			t.Errorf("%q is written as %s, which is no JSON", s, got)
		}
	})
}

func BenchmarkScreen(b *testing.B) {
	s := Screen{PTY: "pty:1", Cols: 200, Rows: 50}
	for range s.Rows {
		s.Lines = append(s.Lines, strings.Repeat("some words and more ", 10))
	}
	b.ReportAllocs()
	for b.Loop() {
		s.AppendJSON(nil)
	}
}
