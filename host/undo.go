package host

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"shoal.dev/shoal/lang/effect"
)

// Judge asks policy about a step as about the changes that it makes. A nil check
// allows everything.
func (s Step) Judge(check Check) error {
	if check == nil || s.Op == StepNone {
		return nil
	}
	ask := func(kind effect.Kind, path string) error {
		if err := check(effect.Effect{Kind: kind, Path: path}); err != nil {
			return err
		}
		return nil
	}
	path := string(s.Path)
	switch s.Op {
	case StepUntrash, StepMove:
		return tree(string(s.From), func(rel string) error {
			if s.Op == StepMove {
				if err := ask(effect.FSDelete, join(string(s.From), rel)); err != nil {
					return err
				}
			}
			return ask(effect.FSWrite, join(path, rel))
		})
	case StepRemove:
		return tree(path, func(rel string) error { return ask(effect.FSDelete, join(path, rel)) })
	default:
		return ask(effect.FSWrite, path)
	}
}

// tree calls f for a path and everything below it, by the paths relative to it;
// what is not there yet is called for alone.
func tree(path string, f func(rel string) error) error {
	if _, err := os.Lstat(path); err != nil {
		return f("")
	}
	return filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return plain(err)
		}
		rel, err := filepath.Rel(path, at)
		if err != nil {
			return err
		}
		if rel == "." {
			rel = ""
		}
		return f(rel)
	})
}

// Take takes a step, which is itself recorded in steps, after it was judged and
// checked against the files as they are now. Load opens former content by its
// hash.
func (s Step) Take(ctx context.Context, files Files, steps *Steps, check Check, load func(hash string) (io.ReadCloser, error)) error {
	if s.Op == StepNone {
		return nil
	}
	if err := s.Judge(check); err != nil {
		return err
	}
	if err := CheckSteps([]Step{s}); err != nil {
		return err
	}
	r := recorder{files, steps}
	path := string(s.Path)
	switch s.Op {
	case StepUntrash, StepMove:
		return r.Move(ctx, string(s.From), path)
	case StepRemove:
		_, err := r.Trash(ctx, path)
		return err
	case StepTimes:
		return r.retime(path, func() error { return setTime(path, s.Was.MTime) })
	}
	steps.begin()
	defer steps.end()
	before := r.look(path, false)
	if s.Op == StepCut {
		return r.change(func() error { return cut(path, s.Was) }, before)
	}
	content, err := s.content(load)
	if err != nil {
		return err
	}
	defer content.Close()
	return r.change(func() error { return putBack(ctx, path, s.Was, content) }, before)
}

// content is the former content that is not in the step itself.
func (s Step) content(load func(string) (io.ReadCloser, error)) (io.ReadCloser, error) {
	if s.Was.Type != "file" || s.Was.Hash == hashOf(s.Was.Data) {
		return io.NopCloser(nil), nil
	}
	content, err := load(s.Was.Hash)
	if err != nil {
		return nil, fmt.Errorf("the former content of %s is not there any more: %w", s.Path, err)
	}
	return content, nil
}

func cut(path string, was *Former) error {
	if err := os.Truncate(path, was.Size); err != nil {
		return plain(err)
	}
	return setTime(path, was.MTime)
}
