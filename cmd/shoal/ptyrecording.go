package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/recording"
	"shoal.dev/shoal/ptyactor/screen"
)

// castVersions are the formats of an export that are asciicasts.
var castVersions = map[string]recording.Cast{"v2": recording.V2, "v3": recording.V3}

func (a *app) exportPTY(f *ptyFlags) error {
	version, isCast := castVersions[cmp.Or(f.format, "v2")]
	log, err := a.recordingLog(f)
	if err != nil {
		return err
	}
	if isCast {
		var cast bytes.Buffer
		r, err := recording.NewReader(bytes.NewReader(log))
		if err == nil {
			err = recording.WriteCast(&cast, r, version)
		}
		if err != nil {
			return err
		}
		log = cast.Bytes()
	}
	return a.output(f.output, log)
}

// output writes to a file, or to stdout without a name.
func (a *app) output(name string, b []byte) error {
	if name == "" || name == "-" {
		_, err := a.stdout.Write(b)
		return err
	}
	return os.WriteFile(name, b, 0o600)
}

// recordingLog is the log of a terminal, of the content store, or of a file.
func (a *app) recordingLog(f *ptyFlags) ([]byte, error) {
	ref := ptyRef(f.what)
	if !strings.HasPrefix(ref, "pty:") && !strings.HasPrefix(ref, "val:") {
		return os.ReadFile(f.what)
	}
	ctx := context.Background()
	if err := f.connect(ctx, a); err != nil {
		return nil, err
	}
	defer f.close()
	if strings.HasPrefix(ref, "pty:") {
		var kept messages.PTYRecording
		if err := f.client.Call(ctx, "pty.record", map[string]any{"pty_id": ref}, &kept); err != nil {
			return nil, err
		}
		ref = string(kept.Log)
	}
	var all []byte
	for {
		var piece messages.BlobPiece
		if err := f.client.Call(ctx, "blob.get", map[string]any{"hash": ref, "offset": len(all)}, &piece); err != nil {
			return nil, err
		}
		b, err := base64.StdEncoding.DecodeString(piece.DataBase64)
		if err != nil {
			return nil, fmt.Errorf("read recording: %w", err)
		}
		all = append(all, b...)
		if piece.Next == nil {
			return all, nil
		}
	}
}

// replayPTY plays a recording on this terminal in its own time, or prints the
// screen that it ends with.
func (a *app) replayPTY(f *ptyFlags) error {
	log, err := a.recordingLog(f)
	if err != nil {
		return err
	}
	r, err := recording.NewReader(bytes.NewReader(log))
	if err != nil {
		return err
	}
	shown := screen.New(r.Header.Cols, r.Header.Rows, 0)
	began := time.Now()
	for {
		e, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			if f.screen {
				fmt.Fprintln(a.stdout, strings.TrimRight(strings.Join(shown.Snapshot().Lines, "\n"), "\n"))
			}
			return nil
		case err != nil:
			return err
		case f.screen:
			draw(shown, e)
		case e.Kind == recording.Output:
			due := time.Duration(float64(e.At) / f.speed)
			<-time.After(due - time.Since(began))
			if _, err := a.stdout.Write(e.Data); err != nil {
				return err
			}
		}
	}
}

// draw does what an event did to the screen.
func draw(s screen.Screen, e recording.Event) {
	switch e.Kind {
	case recording.Output:
		s.Write(e.Data)
	case recording.Resize:
		var cols, rows int
		if _, err := fmt.Sscanf(string(e.Data), "%dx%d", &cols, &rows); err == nil {
			s.Resize(cols, rows)
		}
	}
}
