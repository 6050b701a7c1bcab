package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"shoal.dev/shoal/journal"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/link"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// sourceWidth is how much of a source a line of the listing shows.
const sourceWidth = 72

func historyCommand() command {
	return command{
		name: "history", args: "[FILTERS] [--json]", doc: "list what was run, newest first",
		more: `  --since T --until T  since ≤ time < until: Unix nanoseconds or RFC 3339
  --principal P        on whose behalf
  --session S          in that session
  --ok, --failed       how it ended
  --effects A,B        with all of these effects
  --head H             whose statements run H
  --text T             whose source contains T
  --limit N            at most N entries (50)
  --cursor C           go on after an earlier listing
`,
		run: listHistory,
	}
}

func listHistory(a *app, args []string) int {
	c := historyCommand()
	flags := a.flagSet(c.name)
	var q messages.JournalQuery
	asJSON := flags.Bool("json", false, "")
	historyFlags(flags, &q)
	args, code, done := a.parse(c, flags, args)
	switch {
	case done:
		return code
	case len(args) > 0:
		return a.usageError("history takes filters only, not %q", args[0])
	}
	q.Session = messages.SessionName(a.options.Session)
	raw, err := a.history(context.Background(), q)
	if err != nil {
		return a.fail(err)
	}
	if *asJSON {
		return a.printJSON(raw)
	}
	return a.showHistory(raw)
}

// history asks the kernel, and looks into the store itself when none runs.
func (a *app) history(ctx context.Context, q messages.JournalQuery) (json.RawMessage, error) {
	client, _, err := a.open(ctx, false, wire.ClientOptions{})
	var none *link.NotServing
	if errors.As(err, &none) {
		return storedHistory(none.StateDir, q)
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var raw json.RawMessage
	return raw, client.Call(ctx, "journal.query", q, &raw)
}

// storedHistory reads the journal of a state directory whose kernel is gone. It
// holds the kernel's lock meanwhile, so that none starts into it.
func storedHistory(stateDir string, q messages.JournalQuery) (raw json.RawMessage, err error) {
	paths := link.Paths{StateDir: stateDir}
	lock, err := os.OpenFile(paths.Lock(), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("read history: %s has none: %w", stateDir, err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("read history: a kernel that does not answer holds %s; try again", paths.Lock())
	}
	store, err := journal.Open(journal.Options{
		Dir: filepath.Join(stateDir, "journal"), BlobDir: filepath.Join(stateDir, "blobs"),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	page, err := store.Query(q)
	if err != nil {
		return nil, err
	}
	for i := range page.Entries { // what a kernel did not end, it never will
		if e := &page.Entries[i]; e.Status == messages.EntryRunning {
			no := false
			e.Status, e.OK = messages.EntryInterrupted, &no
		}
	}
	return messages.JSON(page), nil
}

func historyFlags(flags *flag.FlagSet, q *messages.JournalQuery) {
	moment := func(into **int64) func(string) error {
		return func(text string) error {
			ns, err := parseMoment(text)
			*into = &ns
			return err
		}
	}
	outcome := func(ok bool) func(string) error {
		return func(string) error { q.OK = &ok; return nil }
	}
	flags.Func("since", "", moment(&q.Since))
	flags.Func("until", "", moment(&q.Until))
	flags.Func("principal", "", func(s string) error { q.Principal = messages.Principal(s); return nil })
	flags.BoolFunc("ok", "", outcome(true))
	flags.BoolFunc("failed", "", outcome(false))
	flags.Func("effects", "", func(s string) (err error) { q.Effects, err = parseEffects(s); return err })
	flags.StringVar(&q.Head, "head", "", "")
	flags.StringVar(&q.Text, "text", "", "")
	flags.StringVar(&q.Cursor, "cursor", "", "")
	flags.IntVar(&q.Limit, "limit", 0, "")
}

func parseMoment(text string) (int64, error) {
	if ns, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ns, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("neither Unix nanoseconds nor RFC 3339")
	}
	return t.UnixNano(), nil
}

func parseEffects(text string) ([]effect.Kind, error) {
	var kinds []effect.Kind
	for _, name := range strings.Split(text, ",") {
		var k effect.Kind
		if err := json.Unmarshal(messages.JSON(strings.TrimSpace(name)), &k); err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func (a *app) showHistory(raw json.RawMessage) int {
	var page messages.JournalPage
	if err := json.Unmarshal(raw, &page); err != nil {
		return a.fail(fmt.Errorf("decode history: %w", err))
	}
	for _, e := range page.Entries {
		at := time.Unix(0, e.TS).Format("2006-01-02 15:04:05")
		fmt.Fprintf(a.stdout, "%6d  %s  %-11s  %-12s  %9s  %s\n", e.ID, at, e.Status, e.Session,
			time.Duration(e.DurNS).Round(time.Microsecond), oneLine(e.Src))
	}
	if page.Next != "" {
		fmt.Fprintf(a.stderr, "note: there is more: --cursor %s\n", page.Next)
	}
	return exitOK
}

// oneLine is a source's beginning on one line.
func oneLine(src string) string {
	line, more, found := strings.Cut(strings.TrimSpace(src), "\n")
	if found && more != "" {
		line += " …"
	}
	if utf8.RuneCountInString(line) > sourceWidth {
		line = string([]rune(line)[:sourceWidth-1]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line)
}
