package lang_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// FuzzRun plans, completes and runs any source without files and programs. No
// part of it may fail by a fault of its own, every error has a code, and a run
// ends soon after its context.
func FuzzRun(f *testing.F) {
	for i, src := range caseSources(f) {
		if i%12 == 0 { // all of them take long as a plain test
			f.Add(src)
		}
	}
	compiler := lang.NewCompiler()
	code := regexp.MustCompile(`^[a-z_]+$`)
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 2000 {
			return
		}
		s := interp.NewState("/w", []string{"HOME=/home/u"})
		defer s.Close()
		for cursor := range min(len(src)+1, 20) {
			lang.Complete(t.Context(), src, len(src)-cursor, lang.Surroundings{State: s})
		}
		p, perr := compiler.Compile(src, s)
		if perr != nil {
			return
		}
		p.Plan(s)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		ended := time.AfterFunc(2*time.Minute, func() { panic("no end of " + src) })
		defer ended.Stop()
		host := &interp.Host{Memory: interp.NewMemory(512 << 20)}
		v, err := p.Run(ctx, interp.Run{State: s, Host: host, Position: interp.Value})
		if err == nil {
			value.Inline(v)
			value.JSON(v, false)
			return
		}
		coded, ok := err.(*value.Error)
		if !ok || !code.MatchString(string(coded.Code)) || strings.HasPrefix(coded.Msg, "internal error") {
			t.Fatalf("%q: %#v", src, err)
		}
		if coded.Span != nil && coded.File == "" && (coded.Span.Start > coded.Span.End || coded.Span.End > len(src)) {
			t.Fatalf("%q: %v lies at %v", src, err, coded.Span)
		}
	})
}

// caseSources are the sources of our conformance cases.
func caseSources(f *testing.F) (all []string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("..", "test", "conformance", "cases", "*.jsonl"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no conformance cases: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var c struct{ Src string }
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				f.Fatalf("%s: %v", name, err)
			}
			all = append(all, c.Src)
		}
	}
	return all
}
