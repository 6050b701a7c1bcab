package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// attachKey begins a command of the person who watches: Ctrl-].
const attachKey = 0x1d

// errLeft says that the person has left.
var errLeft = errors.New("left")

// notified wakes the loop when something happens to the terminal.
func (f *ptyFlags) notified(method string, _ json.RawMessage) {
	if method != wire.MethodEvent {
		return
	}
	select {
	case f.changed <- struct{}{}:
	default: // it will look anyway
	}
}

// attachPTY shows a terminal on this one until the person leaves or it is gone.
func (a *app) attachPTY(f *ptyFlags) error {
	in, isFile := a.stdin.(*os.File)
	if !isFile || !isTerminal(a.stdin) {
		return errors.New("attach needs a terminal to show it on; shoal pty screenshot gives a picture")
	}
	ctx := context.Background()
	if err := f.connect(ctx, a); err != nil {
		return err
	}
	defer f.close()
	id := ptyRef(f.what)
	if f.take {
		if err := f.keyboard(ctx, true); err != nil {
			return err
		}
	}
	if err := f.client.Call(ctx, "events.subscribe", map[string]any{"channel": strings.Replace(id, ":", ".", 1)}, nil); err != nil {
		return err
	}
	restore, err := makeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer restore()
	io.WriteString(a.stdout, "\x1b[?1049h")
	defer io.WriteString(a.stdout, "\x1b[0m\x1b[?25h\x1b[?1049l")
	typed := make(chan []byte)
	go readKeys(in, typed)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)
	w := &window{of: int(in.Fd())}
	if err := f.watch(ctx, a, w, typed, resized); !errors.Is(err, errLeft) {
		return err
	}
	return nil
}

// readKeys passes on what is typed; it ends with the program.
func readKeys(in io.Reader, typed chan<- []byte) {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if err != nil {
			close(typed)
			return
		}
		typed <- append([]byte(nil), buf[:n]...)
	}
}

// watch draws and types until there is a reason to stop.
func (f *ptyFlags) watch(ctx context.Context, a *app, w *window, typed <-chan []byte, resized <-chan os.Signal) error {
	command := false // the next byte is one
	for {
		s, err := f.readPTY(ctx)
		if err != nil {
			return err
		}
		w.measure()
		io.WriteString(a.stdout, w.picture(s))
		select {
		case <-f.changed:
		case <-resized:
			w.changed = true
		case <-f.client.Done():
			return errors.New("the kernel ended")
		case b, more := <-typed:
			if !more {
				return errLeft
			}
			if command, err = f.typed(ctx, s, b, command); err != nil {
				return err
			}
		}
	}
}

// typed does the commands among what was typed and sends the rest, while this
// side holds the keyboard.
func (f *ptyFlags) typed(ctx context.Context, s messages.Screen, b []byte, command bool) (bool, error) {
	mine := s.Keyboard != nil && s.Keyboard.Yours
	var keys []byte
	for _, c := range b {
		switch {
		case command && c == 'q':
			return false, errors.Join(f.keyboard(ctx, false), errLeft)
		case command && c == 'k':
			// A keyboard that the other side holds stays there, as the status shows.
			if err := f.keyboard(ctx, !mine); isRefusal(err) {
				command = false
				continue
			} else if err != nil {
				return false, err
			}
			mine, command = !mine, false
		case command && c != attachKey:
			command = false
		case !command && c == attachKey:
			command = true
		default:
			keys, command = append(keys, c), false
		}
	}
	if len(keys) == 0 || !mine {
		return command, nil
	}
	err := f.client.Call(ctx, "pty.send", map[string]any{
		"pty_id": ptyRef(f.what), "input": map[string]string{"bytes": base64.StdEncoding.EncodeToString(keys)},
	}, nil)
	if isRefusal(err) {
		err = nil
	}
	return command, err
}

// isRefusal reports whether somebody else has the keyboard.
func isRefusal(err error) bool {
	var refusal *messages.Error
	return errors.As(err, &refusal) && refusal.Code == messages.CodeTaskControl
}

// keyboard takes the keyboard, or gives it back.
func (f *ptyFlags) keyboard(ctx context.Context, take bool) error {
	params := map[string]any{"pty_id": ptyRef(f.what)}
	if !take {
		params["seconds"] = 0
	}
	return f.client.Call(ctx, "pty.keyboard", params, nil)
}

// holder says who types.
func holder(s messages.Screen) string {
	switch {
	case !s.Alive:
		return "ended"
	case s.Keyboard == nil:
		return "watching"
	case s.Keyboard.Yours:
		return "you type"
	}
	return s.Keyboard.Holder + " types"
}

// makeRaw hands every key over as it is; restore undoes it.
func makeRaw(fd int) (restore func(), err error) {
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	raw := *before
	raw.Iflag &^= unix.BRKINT | unix.ICRNL | unix.INPCK | unix.ISTRIP | unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ICANON | unix.IEXTEN | unix.ISIG
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	return func() { unix.IoctlSetTermios(fd, setTermios, before) }, nil
}
