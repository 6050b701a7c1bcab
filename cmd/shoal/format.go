package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"shoal.dev/shoal/lang/syntax"
)

func formatCommand() command {
	return command{
		name: "fmt", args: "[-l] [-w] [FILE…]", doc: "lay out source files in the house form",
		more: `Comments, strings and the lines of spread-out expressions stay as they are. The
result goes to stdout; without a file, stdin is read.
  -l  list the files whose layout differs; the exit status is then 1
  -w  write the result back to the file
`,
		run: formatFiles,
	}
}

func formatFiles(a *app, args []string) int {
	c := formatCommand()
	flags := a.flagSet(c.name)
	list := flags.Bool("l", false, "")
	write := flags.Bool("w", false, "")
	files, code, done := a.parse(c, flags, args)
	if done {
		return code
	}
	if len(files) == 0 {
		if *write {
			return a.usageError("fmt -w needs a file")
		}
		src, err := a.source(nil)
		if err != nil {
			return a.fail(err)
		}
		return a.formatOne("stdin", []byte(src), *list, func(out string) error {
			return a.showFormatted(out, *list)
		})
	}
	worst := exitOK
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			worst = max(worst, a.fail(err))
			continue
		}
		worst = max(worst, a.formatOne(name, src, *list, func(out string) error {
			switch {
			case !*write:
				return a.showFormatted(out, *list)
			case out == string(src):
				return nil
			}
			return rewrite(name, out)
		}))
	}
	return worst
}

// showFormatted prints a result, unless only names are wanted.
func (a *app) showFormatted(out string, list bool) error {
	if list {
		return nil
	}
	_, err := io.WriteString(a.stdout, out)
	return err
}

// formatOne formats one source and gives it to use.
func (a *app) formatOne(name string, src []byte, list bool, use func(string) error) int {
	out, perr := syntax.Format(string(src))
	if perr != nil {
		a.showParseError(script{name: name, src: string(src)}, perr)
		return exitUsage
	}
	status := exitOK
	if list && !bytes.Equal(src, []byte(out)) {
		fmt.Fprintln(a.stdout, name)
		status = exitFailed
	}
	if err := use(out); err != nil {
		return a.fail(err)
	}
	return status
}

// rewrite replaces a file's content and keeps its mode.
func rewrite(name, text string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	tmp := name + ".shoal-fmt"
	if err := os.WriteFile(tmp, []byte(text), info.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}
