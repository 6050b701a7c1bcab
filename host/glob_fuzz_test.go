package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// FuzzGlobFiles expands patterns in a tree of awkward names and compares what
// they find with a plain reading of each directory.
func FuzzGlobFiles(f *testing.F) {
	root := globTree(f)
	for _, pattern := range []string{
		"*", "**", "**/", "**/*.txt", "a/**/c", ".*", "**/.h*", "*/.", "a/./b/", "./*/", "missing/.", "a/missing/..", "x.txt/.", "[!a]*", "link/*",
		"a/link/**", "a//b/*", "**/b/**", "*/../x.txt", "?\xff", "[*]", `"q"/*`, "dangling", "dangling/", "l?nk/*", "**/**/c", "..", "a/b/..", ".", "a/.",
	} {
		f.Add(pattern, false, false)
		f.Add(pattern, true, true)
	}
	compiler := lang.NewCompiler()
	f.Fuzz(func(t *testing.T, pattern string, hidden, follow bool) {
		// Nothing outside the tree is looked at; every `**` multiplies the work.
		if len(pattern) > 100 || strings.HasPrefix(pattern, "/") || strings.Count(pattern, "**") > 4 || leaves(pattern) {
			return
		}
		s := interp.NewState(root, nil)
		src := fmt.Sprintf("glob(%s, hidden: %v, follow: %v).expand()", value.Inline(value.Str(pattern)), hidden, follow)
		p, err := compiler.Compile(src, s)
		if err != nil {
			return // text that is not UTF-8
		}
		v, rerr := p.Run(t.Context(), interp.Run{State: s, Host: &interp.Host{Files: Files{}}})
		if rerr != nil {
			t.Fatalf("%s: %v", src, rerr)
		}
		got := []string{}
		for _, item := range v.AsList().Items {
			got = append(got, item.AsStr())
		}
		w := plainGlob{root: root, hidden: hidden, follow: follow, found: []string{}}
		w.walk(root, strings.Split(pattern, "/"))
		slices.Sort(w.found)
		if diff := cmp.Diff(slices.Compact(w.found), got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", src, diff)
		}
	})
}

// globTree is a directory with files whose names make matching hard.
func globTree(f *testing.F) string {
	root, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{
		"x.txt", "a/b/c", "a/b/d.txt", "a/c", "a/.h/c", ".h/x.txt", ".hidden", "b/a/b/c", "[a]/x", "*", "?", "a*b", `"q"/é`, "e\u0301/é.txt",
		"o\xff", "\xffz/x", "\uFFFD", "-n", " ", "a\nb", "a-", "A/B", "日本/語", "a[", "]", "!a", "^", "empty/",
	} {
		at := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(at, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(at), 0o755); err == nil {
			err = os.WriteFile(at, nil, 0o644)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "a", "a/link": "../b", "dangling": "nowhere", "tolink": "link", "flink": "x.txt"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			f.Fatal(err)
		}
	}
	return root
}

// leaves reports whether a pattern could lead above where it starts.
func leaves(pattern string) bool {
	depth := 0
	for _, part := range strings.Split(pattern, "/") {
		switch part {
		case "", ".", "**":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}

// plainGlob expands a pattern without any care for speed.
type plainGlob struct {
	root           string
	hidden, follow bool
	found          []string
}

func (w *plainGlob) walk(dir string, parts []string) {
	if len(parts) == 0 {
		if _, err := os.Lstat(dir); err == nil {
			w.found = append(w.found, dir)
		}
		return
	}
	part, rest := parts[0], parts[1:]
	switch {
	case part == "" || part == ".":
		if len(rest) > 0 {
			w.walk(dir, rest)
		} else if dir != w.root && isDirectory(dir) {
			w.found = append(w.found, dir)
		}
	case part == "..":
		w.walk(filepath.Dir(dir), rest)
	case part == "**" && len(rest) == 0:
		w.walk(dir, []string{""})
		w.walk(dir, []string{"**", "*"})
	case part == "**":
		w.walk(dir, rest)
		for _, e := range entries(dir) {
			at := filepath.Join(dir, e.Name())
			if (w.hidden || e.Name()[0] != '.') && (e.IsDir() || w.follow && isDirectory(at)) {
				w.walk(at, parts)
			}
		}
	case !strings.ContainsAny(part, "*?["):
		w.walk(dir+"/"+part, rest)
	default:
		g := &value.Glob{Pattern: part, Cwd: "/", Hidden: w.hidden}
		for _, e := range entries(dir) {
			at := filepath.Join(dir, e.Name())
			if interp.MatchGlob(g, "/"+e.Name()) && (len(rest) == 0 || isDirectory(at)) {
				w.walk(at, rest)
			}
		}
	}
}

func entries(dir string) []fs.DirEntry {
	all, _ := os.ReadDir(dir)
	return all
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
