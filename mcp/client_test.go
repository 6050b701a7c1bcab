package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// connectSDK attaches the official client, held to a revision.
func connectSDK(t *testing.T, k Backend, revision string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	s, err := NewServer(Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	near, far := socketPair(t)
	served := make(chan error, 1)
	conn := wire.NewConn(far)
	go func() { served <- s.Serve(t.Context(), conn, k); conn.Close() }()
	client := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, o)
	cs, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: near, Writer: near}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		select {
		case <-served:
		case <-time.After(patience):
			t.Error("Serve does not return after the client has closed")
		}
	})
	return cs
}

// TestOfficialClient: the official client works in both eras.
func TestOfficialClient(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) { checkSDK(t, revision) })
	}
}

func checkSDK(t *testing.T, revision string) {
	t.Helper()
	k := scene()
	updates := make(chan string, 16)
	progress := make(chan float64, 16)
	cs := connectSDK(t, k, revision, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			event, _ := json.Marshal(r.Params.Meta["shoal/event"])
			updates <- r.Params.URI + " " + string(event)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			progress <- r.Params.Progress
		},
	})
	ctx := t.Context()
	init := cs.InitializeResult()
	if init.ProtocolVersion != revision || init.ServerInfo.Version != "1.2.3" || !strings.Contains(init.Instructions, "session work") {
		t.Errorf("handshake %+v", init)
	}
	checkSDKTools(t, cs)
	checkSDKCalls(t, cs, k, progress)
	checkSDKResources(t, cs)

	if err := cs.Subscribe(ctx, &sdk.SubscribeParams{URI: "shoal://events/user.x"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is followed", func() bool { return k.followers("user.x") == 1 })
	k.publish("user.x", `{"a":1}`)
	select {
	case got := <-updates:
		if want := `shoal://events/user.x {"payload":{"a":1},"seq":0,"uri":"shoal://events/user.x"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	case <-time.After(patience):
		t.Error("no update")
	}
	if err := cs.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: "shoal://events/user.x"}); err != nil {
		t.Error(err)
	}
	eventually(t, "it is followed no longer", func() bool { return k.followers("user.x") == 0 })
	if revision == statelessRevision {
		return // which sets the level with each request
	}
	if err := cs.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Error(err)
	}
}

func checkSDKTools(t *testing.T, cs *sdk.ClientSession) {
	t.Helper()
	var names []string
	for tool, err := range cs.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		if tool.InputSchema == nil || tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
	want := slices.Sorted(slices.Values(toolNames))
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("tools %v", names)
	}
}

func checkSDKCalls(t *testing.T, cs *sdk.ClientSession, k *fakeKernel, progress <-chan float64) {
	t.Helper()
	ctx := t.Context()
	res, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "shoal_exec", Arguments: map[string]any{"src": "42"}})
	if err != nil || res.IsError || res.Content[0].(*sdk.TextContent).Text != "42" || len(res.Content) != 2 {
		t.Errorf("exec: %+v, %v", res, err)
	}
	res, err = cs.CallTool(ctx, &sdk.CallToolParams{Name: "shoal_exec", Arguments: map[string]any{"src": "raise"}})
	if err != nil || !res.IsError {
		t.Errorf("raised: %+v, %v", res, err)
	}
	if _, err = cs.CallTool(ctx, &sdk.CallToolParams{Name: "shoal_exec", Arguments: map[string]any{"bogus": 1}}); err == nil || !strings.Contains(err.Error(), "bogus") {
		t.Errorf("bad argument: %v", err)
	}
	if _, err = cs.CallTool(ctx, &sdk.CallToolParams{Name: "nothing"}); err == nil {
		t.Error("an unknown tool is called")
	}

	release := make(chan struct{})
	k.set("task.cancel", blocking(release))
	params := &sdk.CallToolParams{Name: "shoal_cancel", Arguments: map[string]any{"task": "task:9"}}
	params.SetProgressToken("tok")
	done := make(chan error, 1)
	go func() { _, err := cs.CallTool(ctx, params); done <- err }()
	select {
	case p := <-progress:
		if p <= 0 {
			t.Errorf("progress %v", p)
		}
	case <-time.After(patience):
		t.Error("no progress")
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}

	gone, cancel := context.WithCancel(ctx)
	k.set("journal.query", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, *messages.Error) {
		cancel()
		<-ctx.Done()
		close(done)
		return nil, messages.Errorf(messages.CodeInterrupted, "gone")
	})
	if _, err := cs.CallTool(gone, &sdk.CallToolParams{Name: "shoal_journal", Arguments: map[string]any{}}); err == nil {
		t.Error("a cancelled call is answered")
	}
	<-done // the cancellation has reached the kernel call
}

func checkSDKResources(t *testing.T, cs *sdk.ClientSession) {
	t.Helper()
	ctx := t.Context()
	var uris []string
	for r, err := range cs.Resources(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if len(uris) != 10 || uris[0] != "shoal://journal" {
		t.Errorf("resources %v", uris)
	}
	n := 0
	for _, err := range cs.ResourceTemplates(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(templateTable()) {
		t.Errorf("%d templates", n)
	}
	read, err := cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: "shoal://out/17?format=render"})
	if err != nil || read.Contents[0].Text != "a <b>\nc" || read.Contents[0].MIMEType != "text/plain" {
		t.Errorf("read: %+v, %v", read, err)
	}
	blob, err := cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: "shoal://out/5?format=raw"})
	if err != nil || string(blob.Contents[0].Blob) != "\xff\xfeok" {
		t.Errorf("blob: %+v, %v", blob, err)
	}
	if _, err := cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: "shoal://out/404"}); err == nil || !strings.Contains(err.Error(), "kernel error:") {
		t.Errorf("unknown: %v", err)
	}
	done, err := cs.Complete(ctx, &sdk.CompleteParams{
		Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: "shoal://session/{view}"},
		Argument: sdk.CompleteParamsArgument{Name: "view", Value: "c"},
	})
	if err != nil || fmt.Sprint(done.Completion.Values) != "[cwd]" {
		t.Errorf("completion: %+v, %v", done, err)
	}
}

// TestOfficialClientApproves: the official client asks its user, in both eras,
// and goes on with the answer by itself.
func TestOfficialClientApproves(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for action, failed := range map[string]bool{"accept": false, "decline": true, "cancel": true} {
			t.Run(revision+"/"+action, func(t *testing.T) {
				var asked string
				cs := connectSDK(t, scene(), revision, &sdk.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						asked = r.Params.Message
						return &sdk.ElicitResult{Action: action}, nil
					},
				})
				res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "shoal_exec", Arguments: map[string]any{"src": "ask"}})
				if err != nil || res.IsError != failed {
					t.Errorf("got %+v, %v, want failed: %v", res, err, failed)
				}
				if !strings.Contains(asked, "plan:aa") || !strings.Contains(asked, "Risk:") {
					t.Errorf("the user was asked %q", asked)
				}
			})
		}
	}
}
