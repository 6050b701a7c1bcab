package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

const (
	// pageSize is how many resources one answer lists.
	pageSize = 100
	// recentTasks is how many finished tasks are listed beside the live ones.
	recentTasks = 50
)

// listed is a resource as resources/list shows it.
type listed struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType"`
}

// fixedResources are there in every session.
func fixedResources() []listed {
	entry := func(path, title, description string) listed {
		return listed{scheme + path, path, title, description, "application/json"}
	}
	return []listed{
		entry("journal", "Journal", "Submissions, newest first"),
		entry("jobs", "Jobs", "Tasks of the session, foreground ones included"),
		entry("session/cwd", "Working directory", "Of the session, live"),
		entry("session/env", "Environment", "Of the session, as far as it is granted"),
		entry("session/reef", "Tools", "How the session's tools resolve"),
		entry("pty", "Terminals", "Open terminals of the session"),
	}
}

// templateTable is the resource templates.
func templateTable() []mcp.ResourceTemplate {
	row := func(uri, name, description string) mcp.ResourceTemplate {
		return mcp.NewResourceTemplate(scheme+uri, name,
			mcp.WithTemplateDescription(description), mcp.WithTemplateMIMEType("application/json"))
	}
	return []mcp.ResourceTemplate{
		row("out/{n}{?path,slice,format}", "out", "Transcript value; slice=a..b; format=json|render|raw"),
		row("val/{hash}{?slice,format}", "val", "Content by its hash"),
		row("task/{id}", "task", "Task record"),
		row("task/{id}/out{?path,slice,format}", "task-out", "Value or error of a task, its record before"),
		row("task/{id}/stdout{?offset,limit}", "task-stdout", "Output of a task by byte offset, also while it runs"),
		row("task/{id}/stderr{?offset,limit}", "task-stderr", "Error output of a task by byte offset, also while it runs"),
		row("plan/{ref}", "plan", "A plan and its approvals"),
		row("session/{view}", "session", "cwd, env or reef, live"),
		row("pty/{id}", "pty", "Screen of a terminal"),
		row("journal{?since,until,head,principal,ok,effects,limit}", "journal", "Query of the journal"),
		row("events/{channel}{?since,limit}", "events", "Events after a sequence number"),
	}
}

// listCalls are what resources/list asks the kernel for, and how an item of the
// answer is shown.
var listCalls = []struct {
	method, list string
	entry        func(item []byte) listed
}{
	{"task.list", "tasks", taskEntry},
	{"plan.list", "plans", planEntry},
	{"pty.list", "ptys", terminalEntry},
}

func taskEntry(item []byte) listed {
	id := unquote(member(item, "task"))
	return listed{messages.TaskID(id).URI(), id, "", unquote(member(item, "state")) + ": " + oneLine(member(item, "src")), "application/json"}
}

func planEntry(item []byte) listed {
	ref := unquote(member(item, "plan_ref"))
	return listed{messages.PlanRef(ref).URI(), ref, "", unquote(member(item, "verdict")) + ": " + oneLine(member(item, "source")), "application/json"}
}

func terminalEntry(item []byte) listed {
	id := unquote(member(item, "pty_id"))
	return listed{messages.PTYID(id).URI(), id, "", oneLine(member(item, "cmd")), "application/json"}
}

func oneLine(raw []byte) string {
	return clip(strings.Join(strings.Fields(unquote(raw)), " "), 120)
}

// listResources asks for everything that has an address and shows one page.
func (p *peer) listResources(req request) (job, *messages.Error) {
	stateless := req.meta.stateless
	after, refusal := parseCursor(member(req.params, "cursor"))
	if refusal != nil {
		return job{}, refusal
	}
	if !stateless {
		p.watchList()
	}
	calls := make([]Call, len(listCalls))
	for i, c := range listCalls {
		// What the kernel does not have, or does not show, is not listed.
		calls[i], _ = p.backend.Begin(c.method, nil)
	}
	return job{keep: new(int64), run: func(ctx context.Context) (json.RawMessage, *messages.Error) {
		all := fixedResources()
		for i, call := range calls {
			if call == nil {
				continue
			}
			answer, refusal := call.Wait(ctx)
			if refusal != nil {
				if isBridge(refusal) && refusal.Code == messages.CodeInterrupted {
					return nil, refusal
				}
				continue
			}
			all = append(all, entries(answer, i)...)
		}
		return page(all, after), nil
	}}, nil
}

// entries are the resources in an answer. Of finished tasks, which the kernel
// gives oldest first, only the newest are shown.
func entries(answer []byte, call int) []listed {
	var list []listed
	tasks := listCalls[call].list == "tasks"
	hasEnded := func(item []byte) bool {
		return tasks && messages.TaskState(unquote(member(item, "state"))).Ended()
	}
	ended := 0
	eachItem(member(answer, listCalls[call].list), func(item []byte) bool {
		if hasEnded(item) {
			ended++
		}
		return true
	})
	eachItem(member(answer, listCalls[call].list), func(item []byte) bool {
		if hasEnded(item) {
			if ended--; ended >= recentTasks {
				return true
			}
		}
		list = append(list, listCalls[call].entry(item))
		return true
	})
	return list
}

// place is where a page ended: behind the resource with that URI or, if it is
// gone, at that index.
type place struct {
	index int
	uri   string
}

func parseCursor(raw []byte) (*place, *messages.Error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(unquote(raw))
	index, uri, ok := strings.Cut(string(text), " ")
	n, err2 := strconv.Atoi(index)
	if err != nil || err2 != nil || !ok || n < 0 {
		return nil, messages.Errorf(messages.CodeInvalidParams, "cursor: expected nextCursor of the page before")
	}
	return &place{n, uri}, nil
}

// page is the answer that lists what comes after a place.
func page(all []listed, after *place) json.RawMessage {
	from := 0
	if after != nil {
		from = min(after.index, len(all))
		if i := slices.IndexFunc(all, func(l listed) bool { return l.URI == after.uri }); i >= 0 {
			from = i + 1
		}
	}
	to := min(from+pageSize, len(all))
	answer := struct {
		Resources  []listed `json:"resources"`
		NextCursor string   `json:"nextCursor,omitempty"`
	}{Resources: all[from:to]}
	if to < len(all) {
		answer.NextCursor = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", to, all[to-1].URI))
	}
	return messages.JSON(answer)
}

// watchList tells the client of a handshake once, of each list of resources that
// it asks for, that it has grown stale. What changes while the list is made may
// be told before the list itself.
func (p *peer) watchList() {
	p.listed.Store(true)
	p.subs.mu.Lock()
	defer p.subs.mu.Unlock()
	if p.subs.ours != nil || p.subs.ended {
		return
	}
	cursor, refusal := p.backend.Watch(WatchedThings)
	if refusal != nil {
		p.s.o.Log.Warn("the list of resources is not watched", "err", refusal)
		return
	}
	life, cancel := context.WithCancel(context.Background())
	sub := &subscription{cancel: cancel, cursors: []Cursor{cursor}}
	p.subs.ours = sub
	sub.wait.Go(func() {
		p.follow(life, cursor, followed{uri: "the list of resources"}, func(messages.Event, *messages.Dropped) error {
			if !p.listed.CompareAndSwap(true, false) {
				return nil
			}
			return p.conn.Send(listView.notice(followed{}))
		})
	})
}
