package interp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// lookPath finds a program in the session's PATH.
func (m *Machine) lookPath(name string) (string, error) {
	if m.host.Programs == nil {
		return "", value.Errorf(value.CodeNotFound, "command not found: %s", name)
	}
	m.leaveCells()
	defer m.enterCells()
	return m.host.Programs.LookPath(m.ctx, name, m.Cwd(), m.Environ())
}

// External runs a program to its end, for library heads that do so by name.
// The result is an outcome; a failed one is no error.
func (m *Machine) External(argv []string, span syntax.Span) (value.Value, error) {
	exit, err := m.execute(argv, strings.Join(argv, " "), &streams{})
	if err != nil {
		return value.Null, err
	}
	return m.outcome(exit, strings.Join(argv, " "), span), nil
}

// external runs a program found by name.
func (m *Machine) external(argv []string, words []word, text string, kind syntax.ArgKind, io *streams, span syntax.Span, pos position) value.Value {
	if !m.poll() {
		return value.Null
	}
	exit, err := m.execute(argv, text, io)
	if err != nil {
		if !m.poll() {
			return value.Null
		}
		return m.raise(m.startError(err, argv[0], words, kind), span)
	}
	return m.finishedProgram(exit, text, span, pos)
}

// finishedProgram is the outcome of a program, or the error it raises.
func (m *Machine) finishedProgram(exit *Exit, text string, span syntax.Span, pos position) value.Value {
	for _, n := range exit.Notes {
		if n.Span == nil {
			n.Span = &NoteSpan{span.Start, span.End}
		}
		m.Note(n)
	}
	if !m.poll() {
		return value.Null
	}
	v := m.outcome(exit, text, span)
	if o := v.AsOutcome(); !o.OK && m.raises(pos) {
		return m.raise(o.Fail(), span)
	}
	return v
}

func (m *Machine) outcome(exit *Exit, text string, span syntax.Span) value.Value {
	o := &value.Outcome{
		Status: exit.Status, Signal: exit.Signal, PID: exit.PID, Dur: exit.Dur, Cmd: text,
		OK:     exit.Status != nil && *exit.Status == 0,
		Stdout: value.NewBlob(exit.Stdout), Stderr: value.NewBlob(exit.Stderr),
	}
	if span.End > 0 {
		o.Span = &value.Span{Start: span.Start, End: span.End}
	}
	return value.NewOutcome(o)
}

// startError words a program that could not be started.
func (m *Machine) startError(err error, name string, words []word, kind syntax.ArgKind) *value.Error {
	e, coded := err.(*value.Error)
	if !coded {
		return value.Errorf(value.CodeIO, "start %s: %v", name, err)
	}
	if strings.HasPrefix(name, "//") { // nobody means the root by it
		return m.notFound(name, words)
	}
	if strings.Contains(name, "/") || kind == syntax.ArgPath {
		if m.host.Files != nil {
			if info, serr := m.host.Files.Stat(m.ctx, m.Abs(name)); serr == nil && info.Type == "dir" {
				return value.Errorf(value.CodePermission, "%s is a directory", name).WithHint("cd %s", name)
			}
		}
	}
	if e.Code == value.CodeNotFound && e.Hint == "" {
		return m.notFound(name, words)
	}
	return e
}

// execute starts a program with its redirects and waits for it.
func (m *Machine) execute(argv []string, text string, sio *streams) (*Exit, error) {
	argv, path, err := m.executable(argv)
	if err != nil {
		return nil, err
	}
	m.leaveCells()
	defer m.enterCells()
	spec := ExecSpec{
		Argv: argv, Path: path, Cwd: m.Cwd(), Env: m.Environ(), Overlay: m.overlayEnviron(), Cmd: text,
	}
	switch {
	case sio.input != nil:
		spec.Stdin = sio.input
	case sio.fed:
		spec.Stdin = bytes.NewReader(sio.stdin)
	}
	if sio.source != "" {
		f, err := m.openInput(sio.source)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		spec.Stdin = f
	}
	if len(sio.targets) == 0 {
		return m.host.Programs.Exec(m.ctx, spec)
	}
	return m.executeInto(spec, sio.targets)
}

func (m *Machine) openInput(path string) (io.ReadCloser, error) {
	if m.host.Files == nil {
		return nil, noFiles()
	}
	f, err := m.host.Files.Open(m.ctx, path)
	if err != nil {
		return nil, fileError("read", path, err)
	}
	return f, nil
}

// overlayEnviron is the variables that win over pinned ones.
func (m *Machine) overlayEnviron() []string {
	out := make([]string, 0, len(m.overlay))
	for _, v := range m.overlay {
		out = append(out, v.Name+"="+envText(v.Value))
	}
	return out
}

// executeInto runs a program whose stdout goes to files, byte for byte. The
// files are opened, in order, before the program starts; it does not start when
// one of them cannot be.
func (m *Machine) executeInto(spec ExecSpec, targets []target) (*Exit, error) {
	if m.host.Files == nil {
		return nil, noFiles()
	}
	files := make([]*targetFile, 0, len(targets))
	writers := make([]io.Writer, 0, len(targets))
	var err error
	for _, t := range targets {
		f := m.openTarget(t)
		if err = f.opened(); err != nil {
			break
		}
		files, writers = append(files, f), append(writers, f.w)
	}
	var exit *Exit
	if err == nil {
		spec.Stdout = io.MultiWriter(writers...)
		exit, err = m.host.Programs.Exec(m.ctx, spec)
	}
	for _, f := range files {
		if werr := f.close(); werr != nil && (err == nil || errors.Is(err, io.ErrClosedPipe)) {
			err = werr
		}
	}
	return exit, err
}

// targetFile is a file that a goroutine writes, from a pipe, until close.
type targetFile struct {
	r     *io.PipeReader
	w     *io.PipeWriter
	once  sync.Once
	ready chan struct{} // closed when content is first asked for
	ended chan error
}

func (m *Machine) openTarget(t target) *targetFile {
	f := &targetFile{ready: make(chan struct{}), ended: make(chan error, 1)}
	f.r, f.w = io.Pipe()
	go func() {
		err := m.host.Files.WriteFile(m.ctx, t.path, f, t.mode())
		f.r.Close()
		if err != nil {
			err = fileError("write", t.path, err)
		}
		f.ended <- err
	}()
	return f
}

// Read is for the goroutine that writes the file.
func (f *targetFile) Read(p []byte) (int, error) {
	f.once.Do(func() { close(f.ready) })
	return f.r.Read(p)
}

// opened waits until the file is open, or is the reason why it is not.
func (f *targetFile) opened() error {
	select {
	case <-f.ready:
		return nil
	case err := <-f.ended:
		f.ended <- err
		return err
	}
}

// close ends the content and waits until it is written.
func (f *targetFile) close() error {
	f.w.Close()
	return <-f.ended
}

func (t target) mode() WriteMode {
	if t.append {
		return Append
	}
	return Truncate
}

// writeValue writes a builtin's value to a redirect target: bytes raw, str and
// other values as text with a newline at the end, null as nothing.
func (m *Machine) writeValue(t target, v value.Value) error {
	if m.host.Files == nil {
		return noFiles()
	}
	var content io.Reader
	switch v.Kind() {
	case value.KindBytes:
		content = v.AsBytes().Reader()
	case value.KindNull:
		content = strings.NewReader("")
	default:
		text := value.EchoText(v)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		content = strings.NewReader(text)
	}
	m.leaveCells()
	defer m.enterCells()
	if err := m.host.Files.WriteFile(m.ctx, t.path, content, t.mode()); err != nil {
		return fileError("write", t.path, err)
	}
	return nil
}

// fileError words a failure of the host's files; one with a code keeps it,
// unless it only says that the file is missing.
func fileError(verb, path string, err error) *value.Error {
	var e *value.Error
	if errors.As(err, &e) && e.Code != value.CodeNotFound {
		return e
	}
	if errors.Is(err, fs.ErrNotExist) || e != nil {
		return value.Errorf(value.CodeCustom, "%s %s: no such file or directory", verb, path)
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return value.Errorf(value.CodeCustom, "%s %s: %v", verb, path, err)
}

// interpreterFlags are how an interpreter takes a program as an argument.
var interpreterFlags = map[string][]string{
	"sh": {"-c"}, "bash": {"-c"}, "zsh": {"-c"}, "fish": {"-c"}, "python": {"-c"}, "python3": {"-c"},
	"node": {"-e"}, "ruby": {"-e"}, "perl": {"-e"}, "lua": {"-e"}, "Rscript": {"-e"}, "osascript": {"-e"},
	"php": {"-r"}, "deno": {"eval"}, "jq": nil, "yq": nil,
}

// interpreter runs an interpreter block.
func (m *Machine) interpreter(name, payload string, words []word, io *streams, span syntax.Span, pos position) value.Value {
	argv := append(append([]string{name}, interpreterFlags[name]...), payload)
	more, err := m.argv(words)
	if err != nil {
		return m.raise(err, span)
	}
	v := m.external(append(argv, more...), words, name+" {…}", syntax.ArgWord, io, span, pos)
	if v.Kind() == value.KindOutcome && v.AsOutcome().OK {
		m.notePipe(name, payload, span)
	}
	return v
}

// maxStage is how much of a part of a pipe a note shows, in bytes.
const maxStage = 80

// notePipe remarks that a success may be that of the last part of a pipe only:
// the shell tells nobody how the earlier ones ended.
func (m *Machine) notePipe(shell, payload string, span syntax.Span) {
	stage, last, found := syntax.MaskedStage(shell, payload)
	if !found {
		return
	}
	stage = strings.Join(strings.Fields(stage), " ")
	if len(stage) > maxStage {
		stage = strings.ToValidUTF8(stage[:maxStage], "") + "…"
	}
	m.Note(Note{
		Code: "pipe_status",
		Msg:  fmt.Sprintf("a pipe has the status of its last command, %s; whether `%s` failed is not known: bash { set -o pipefail; … } tells", last, stage),
		Span: &NoteSpan{span.Start, span.End}, Data: map[string]any{"stage": stage, "last": last},
	})
}
