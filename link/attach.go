package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

const (
	// goneTimeout is how long an attachment is tried again after a kernel ended
	// before it answered: somewhat longer than an orderly stop takes.
	goneTimeout = 6 * time.Second
	// goneSlack is the longest pause between such tries.
	goneSlack = time.Second
)

// attachParams are the params of session.attach that a client sends.
type attachParams struct {
	Session string            `json:"session,omitempty"`
	Token   string            `json:"token,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Client  clientInfo        `json:"client"`
}

type clientInfo struct {
	Kind string `json:"kind,omitempty"`
	TTY  bool   `json:"tty,omitempty"`
}

// Attachment is the part of the kernel's answer that clients look at.
type Attachment struct {
	Session   string `json:"session"`
	Principal string `json:"principal"`
	Version   string `json:"version"`
	Protocol  string `json:"protocol_version"`
	KernelID  string `json:"kernel_id"`
	// Socket is where the kernel was found.
	Socket string `json:"-"`
}

// Open connects and attaches a client of the raw protocol.
func Open(ctx context.Context, o Options, log *slog.Logger, c wire.ClientOptions) (*wire.Client, Attachment, error) {
	p, err := Locate(o)
	if err != nil {
		return nil, Attachment{}, err
	}
	conn, attachment, err := connector{options: o, paths: p, log: log}.connect(ctx, true)
	if err != nil {
		return nil, Attachment{}, err
	}
	return wire.NewClient(conn, c), attachment, nil
}

// connector makes attached connections, again and again.
type connector struct {
	options Options
	paths   Paths
	log     *slog.Logger
}

// errGone says that the kernel ended before it answered the attachment.
var errGone = errors.New("attach: the kernel ended before it answered")

// connect dials, starting a kernel if it may and must, and attaches. A refusal
// by the kernel is a *messages.Error, nobody there a *NotServing.
func (c connector) connect(ctx context.Context, mayStart bool) (*wire.Conn, Attachment, error) {
	mayStart = mayStart && !c.options.NoStart && getenv(c.options.Environ, "SHOAL_NO_AUTOSTART") == ""
	deadline := time.Now().Add(goneTimeout)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, goneSlack) {
		conn, attachment, err := c.once(ctx, mayStart)
		if err == nil || time.Now().After(deadline) || !isEnding(err) {
			return conn, attachment, err
		}
		if err := wait(ctx, pause); err != nil {
			return nil, Attachment{}, err
		}
	}
}

func (c connector) once(ctx context.Context, mayStart bool) (*wire.Conn, Attachment, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attachTimeout, errSlow)
	defer cancel()
	found, err := c.paths.dial(ctx)
	if mayStart && isNotServing(err) {
		found, err = newStarter(c.options, c.paths).dial(ctx)
	}
	if err != nil {
		return nil, Attachment{}, err
	}
	conn := wire.NewConn(found.Conn)
	attachment, err := c.attach(ctx, conn)
	if err == nil {
		attachment.Socket = found.socket
		err = c.check(attachment)
	}
	if err != nil {
		conn.Close()
		return nil, Attachment{}, err
	}
	return conn, attachment, nil
}

var errSlow = fmt.Errorf("the kernel has not answered for %s; it is left alone", attachTimeout)

func (c connector) attach(ctx context.Context, conn *wire.Conn) (Attachment, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	params, err := json.Marshal(c.params())
	if err != nil {
		return Attachment{}, fmt.Errorf("attach: %w", err)
	}
	if err := conn.Send(wire.AppendRequest(nil, json.RawMessage("0"), "session.attach", params)); err != nil {
		c.log.Debug("attachment was not written", "err", err) // what counts is the read side
	}
	line, err := conn.Next()
	switch {
	case ctx.Err() != nil:
		return Attachment{}, fmt.Errorf("attach: %w", context.Cause(ctx))
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isReset(err):
		return Attachment{}, errGone
	default:
		return Attachment{}, fmt.Errorf("attach: %w", err)
	}
	return parseAttachment(line)
}

func parseAttachment(line []byte) (Attachment, error) {
	head, ok := wire.Peek(line)
	if ok && head.Error != nil {
		refusal := new(messages.Error)
		if err := json.Unmarshal(head.Error, refusal); err != nil {
			return Attachment{}, fmt.Errorf("attach: decode refusal: %w", err)
		}
		return Attachment{}, refusal
	}
	if !ok || head.Result == nil {
		return Attachment{}, errors.New("attach: what serves there does not answer like a kernel")
	}
	var a Attachment
	if err := json.Unmarshal(head.Result, &a); err != nil {
		return Attachment{}, fmt.Errorf("attach: decode answer: %w", err)
	}
	return a, nil
}

// check refuses a kernel with another protocol and one that serves another
// state directory than the one that was meant.
func (c connector) check(a Attachment) error {
	theirs, _, _ := strings.Cut(a.Protocol, ".")
	ours, _, _ := strings.Cut(wire.ProtocolVersion, ".")
	if theirs != ours {
		return messages.Errorf(messages.CodeInvalidRequest,
			"the kernel at %s (version %s) speaks protocol %s, this client (version %s) speaks %s; restart the kernel",
			a.Socket, a.Version, a.Protocol, Version(), wire.ProtocolVersion)
	}
	if a.Version != Version() {
		c.log.Warn("kernel is another build", "kernel", a.Version, "client", Version())
	}
	if c.paths.Given {
		return nil
	}
	e, err := c.paths.ReadEndpoint()
	if err != nil {
		return fmt.Errorf("attach: the kernel at %s does not own %s: %w", a.Socket, c.paths.StateDir, err)
	}
	if e.KernelID != a.KernelID {
		return fmt.Errorf("attach: %s is served by kernel %s, but %s belongs to kernel %s",
			a.Socket, a.KernelID, c.paths.StateDir, e.KernelID)
	}
	return nil
}

// params describe the client. What is not valid UTF-8 cannot be said in JSON
// and is left out rather than changed.
func (c connector) params() attachParams {
	o := c.options
	p := attachParams{
		Session: firstSet(o.Session, getenv(o.Environ, "SHOAL_SESSION"), string(messages.DefaultSession)),
		Token:   o.Token,
		Env:     map[string]string{},
		Client:  clientInfo{Kind: o.Kind, TTY: o.TTY},
	}
	if utf8.ValidString(o.Cwd) {
		p.Cwd = o.Cwd
	} else {
		c.log.Warn("working directory is not valid UTF-8 and is not passed on", "cwd", o.Cwd)
	}
	for _, entry := range o.Environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && !strings.HasPrefix(name, "SHOAL_") && utf8.ValidString(entry) {
			p.Env[name] = value
		}
	}
	return p
}

// isEnding reports whether an attachment met a kernel that is going away.
func isEnding(err error) bool {
	var refusal *messages.Error
	return errors.Is(err, errGone) || errors.As(err, &refusal) && refusal.Code == messages.CodeInterrupted
}
