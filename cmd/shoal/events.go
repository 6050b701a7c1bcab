package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

func eventsCommand() command {
	return command{
		name: "events", args: "tail CHANNEL [--since N] [--follow] [--json]", doc: "show the events of a channel",
		more: `Without --since the newest events are shown, with it those after number N.
With --follow, what happens from then on is shown too, until interrupted.
`,
		run: showEvents,
	}
}

// eventsQuery are the params of events.read and events.subscribe.
type eventsQuery struct {
	Channel string  `json:"channel"`
	Since   *uint64 `json:"since,omitempty"`
	Tail    bool    `json:"tail,omitempty"`
}

func showEvents(a *app, args []string) int {
	c := eventsCommand()
	flags := a.flagSet(c.name)
	asJSON := flags.Bool("json", false, "")
	follow := flags.Bool("follow", false, "")
	var since *uint64
	flags.Func("since", "", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		since = &n
		return err
	})
	args, code, done := a.parse(c, flags, args)
	switch {
	case done:
		return code
	case len(args) != 2 || args[0] != "tail":
		return a.usageError("events takes: tail CHANNEL")
	}
	t := &tail{app: a, query: eventsQuery{Channel: args[1], Since: since}, json: *asJSON}
	if err := t.run(context.Background(), *follow); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// tail shows one channel.
type tail struct {
	app   *app
	query eventsQuery
	json  bool
}

func (t *tail) run(ctx context.Context, follow bool) error {
	client, _, err := t.app.open(ctx, true, wire.ClientOptions{Notify: t.notified})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := t.read(ctx, client); err != nil || !follow {
		return err
	}
	// Nothing lies between the page and the subscription: it begins where the
	// page ended.
	t.query.Tail = false
	if err := client.Call(ctx, "events.subscribe", t.query, nil); err != nil {
		return err
	}
	<-client.Done()
	hint := ""
	if t.query.Since != nil {
		hint = fmt.Sprintf("; go on with --since %d", *t.query.Since)
	}
	return fmt.Errorf("the kernel ended%s", hint)
}

// read shows what there is: all pages after a cursor, else the newest page.
func (t *tail) read(ctx context.Context, client *wire.Client) error {
	t.query.Tail = t.query.Since == nil
	for {
		var page messages.EventPage
		if err := client.Call(ctx, "events.read", t.query, &page); err != nil {
			return err
		}
		if page.Gap != nil {
			fmt.Fprintf(t.app.stderr, "note: events %d to %d are no longer kept\n", page.Gap.From, page.Gap.To)
		}
		for _, e := range page.Events {
			t.show(e)
		}
		switch {
		case t.query.Tail || page.Next == nil || len(page.Events) == 0:
			if page.LatestSeq != nil && t.query.Since == nil {
				t.query.Since = page.LatestSeq
			}
			return nil
		default:
			t.query.Since = page.Next
		}
	}
}

func (t *tail) notified(method string, params json.RawMessage) {
	if method != wire.MethodEvent {
		return
	}
	var live struct {
		messages.Event
		Dropped uint64 `json:"dropped"`
	}
	if json.Unmarshal(params, &live) != nil || live.Channel != t.query.Channel && live.Channel != "" {
		return
	}
	if live.Dropped > 0 {
		fmt.Fprintf(t.app.stderr, "note: %d events up to %d were lost\n", live.Dropped, live.Seq)
		return
	}
	t.show(live.Event)
}

func (t *tail) show(e messages.Event) {
	t.query.Since = &e.Seq
	if t.json {
		t.app.printJSON(messages.JSON(e))
		return
	}
	at := time.Unix(0, e.TS).Format("2006-01-02 15:04:05.000")
	fmt.Fprintf(t.app.stdout, "%s %6d %s\n", at, e.Seq, e.Payload)
}
