package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/token"
)

func tokenCommand() command {
	return command{
		name: "token", args: "create PRINCIPAL [--ttl TIME] [--session NAME]… | list [--json] | revoke ID|PRINCIPAL",
		doc: "make, list and revoke bearer tokens",
		more: `create prints the token, the only time that it can be seen. PRINCIPAL is local-human
for yourself, or a name that has a table in the policy file: without one its token
opens nothing.
  --ttl TIME       how long it is good, such as 12h or 30m (for ever)
  --session NAME   open only sessions of that name or pattern; may be repeated

A running kernel knows at once what was created or revoked, and cuts the
connections of what was revoked. Nothing needs to run for any of this.
`,
		run: controlTokens,
	}
}

func controlTokens(a *app, args []string) int {
	c := tokenCommand()
	flags := a.kernelFlags(c.name)
	asJSON := flags.Bool("json", false, "")
	ttl := flags.Duration("ttl", 0, "")
	var sessions []string
	flags.Func("session", "", func(name string) error { sessions = append(sessions, name); return nil })
	args, code, done := a.parse(c, flags, args)
	switch {
	case done:
		return code
	case len(args) == 0:
		return a.usageError("token takes one of create, list, revoke")
	}
	paths, err := link.Locate(a.options)
	if err != nil {
		return a.fail(err)
	}
	store := token.Open(paths.StateDir)
	switch want := map[string]int{"create": 2, "list": 1, "revoke": 2}[args[0]]; {
	case want == 0:
		return a.usageError("token takes one of create, list, revoke, not %q", args[0])
	case want != len(args):
		return a.usageError("token takes: create PRINCIPAL, list, or revoke ID|PRINCIPAL")
	}
	switch args[0] {
	case "create":
		if *ttl < 0 {
			return a.usageError("--ttl %v: expected a time that is not negative", *ttl)
		}
		if err = paths.MakeStateDir(); err == nil {
			err = a.createToken(store, args[1], *ttl, sessions)
		}
	case "list":
		err = a.listTokens(store, *asJSON)
	case "revoke":
		err = a.revokeTokens(store, args[1])
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}

// createToken prints the token alone on stdout, and what to know to stderr.
func (a *app) createToken(store *token.Store, principal string, ttl time.Duration, sessions []string) error {
	secret, e, err := store.Create(principal, ttl, sessions)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, secret)
	fmt.Fprintf(a.stderr, "note: this is %s of %s; it is not shown again\n", e.ID, e.Principal)
	if principal == token.Owner {
		fmt.Fprintln(a.stderr, "note: whoever has it is you: it may do what you may do without a token")
	} else {
		fmt.Fprintf(a.stderr, "note: it may do what [principal.%q] in the policy file allows, and without that table nothing\n", principal)
	}
	return nil
}

// tokenLine is a token as list shows it with --json.
type tokenLine struct {
	ID        string   `json:"id"`
	Principal string   `json:"principal"`
	CreatedNS int64    `json:"created_ns"`
	ExpiresNS int64    `json:"expires_ns,omitempty"`
	Expired   bool     `json:"expired"`
	Sessions  []string `json:"sessions"`
}

func (a *app) listTokens(store *token.Store, asJSON bool) error {
	all, err := store.List()
	if err != nil {
		return err
	}
	now := time.Now()
	if asJSON {
		for _, e := range all {
			line := tokenLine{e.ID, e.Principal, e.CreatedNS, e.ExpiresNS, e.Expired(now), append([]string{}, e.Sessions...)}
			text, err := json.Marshal(line)
			if err != nil {
				return err
			}
			a.printJSON(text)
		}
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, e := range all {
		expires := "never"
		switch {
		case e.Expired(now):
			expires = "expired"
		case e.ExpiresNS != 0:
			expires = time.Unix(0, e.ExpiresNS).Format(time.DateTime)
		}
		names := "all sessions"
		if len(e.Sessions) > 0 {
			names = strings.Join(e.Sessions, " ")
		}
		fmt.Fprintf(w, "%s\t%s\tcreated %s\texpires %s\t%s\n", e.ID, e.Principal, time.Unix(0, e.CreatedNS).Format(time.DateTime), expires, names)
	}
	return w.Flush()
}

func (a *app) revokeTokens(store *token.Store, name string) error {
	gone, err := store.Revoke(name)
	for _, e := range gone {
		fmt.Fprintf(a.stdout, "revoked %s of %s\n", e.ID, e.Principal)
	}
	return err
}
