// Command spray writes the bytes of events to many connections, in large pieces
// and without looking at them: SOCKET CHANNEL CONNECTIONS EVENTS. It connects,
// waits for a byte on its input, writes, and ends when that input does.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

// piece is how many bytes are written at once.
const piece = 64 << 10

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: spray: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("got %d arguments, want 4", len(args))
	}
	connections, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	events, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	var all []net.Conn
	for range connections {
		c, err := net.Dial("unix", args[0])
		if err != nil {
			return err
		}
		defer c.Close()
		all = append(all, c)
	}
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		return err
	}
	if err := write(all, args[1], events); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func write(all []net.Conn, channel string, events int) error {
	var buf []byte
	ts := time.Now().UnixNano()
	for i := range events {
		buf = fmt.Appendf(buf, `{"jsonrpc":"2.0","method":"event","params":{"channel":"%s","seq":%d,"ts":%d,"payload":{"n":%d}}}`+"\n", channel, i, ts, i)
		if len(buf) < piece && i < events-1 {
			continue
		}
		for _, c := range all {
			if _, err := c.Write(buf); err != nil {
				return err
			}
		}
		buf = buf[:0]
	}
	return nil
}
