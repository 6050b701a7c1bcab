package proc

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func benchRunner(b *testing.B) *Runner {
	r, err := New(Options{KernelID: "bench", RunDir: b.TempDir(), SpillDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return r
}

// BenchmarkTrue compares a captured /bin/true with os/exec capturing both
// streams.
func BenchmarkTrue(b *testing.B) {
	env := os.Environ()
	b.Run("ours", func(b *testing.B) {
		r := benchRunner(b)
		for b.Loop() {
			out := r.OpenOutput(1, nil)
			res, err := r.Run(context.Background(), Spec{Task: 1, Path: "/bin/true", Argv: []string{"true"},
				Env: env, Stdout: out.Stdout, Stderr: out.Stderr})
			if err != nil || *res.Status != 0 {
				b.Fatal(res, err)
			}
			out.Close()
		}
	})
	// A session of its own is a scheduling group of its own on many systems,
	// which costs more than we do when the machine is busy.
	for name, attr := range map[string]*syscall.SysProcAttr{"osexec": nil, "osexec-setsid": {Setsid: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				var out, errs bytes.Buffer
				cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = env, &out, &errs, attr
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCapture100MB compares a large capture with reading the pipe into
// chunks and nothing else.
func BenchmarkCapture100MB(b *testing.B) {
	const size = 100 << 20
	argv := []string{"head", "-c", "104857600", "/dev/zero"}
	path, err := exec.LookPath("head")
	if err != nil {
		b.Skip("no head")
	}
	b.Run("ours", func(b *testing.B) {
		r := benchRunner(b)
		b.SetBytes(size)
		for b.Loop() {
			res, err := r.Run(context.Background(), Spec{Task: 1, Path: path, Argv: argv, CaptureCap: 2 * size})
			if err != nil || res.Stdout.Len() != size {
				b.Fatal(err)
			}
			res.Stdout.Close()
		}
	})
	b.Run("chunks", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			cmd := exec.Command(path, argv[1:]...)
			pipe, _ := cmd.StdoutPipe()
			growPipe(pipe.(*os.File))
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			var chunks [][]byte
			total := 0
			for {
				buf := make([]byte, chunkMax)
				n, err := io.ReadFull(pipe, buf)
				chunks = append(chunks, buf[:n])
				total += n
				if err != nil {
					break
				}
			}
			if cmd.Wait() != nil || total != size {
				b.Fatal(total)
			}
		}
	})
}
