package builtin

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// httpTimeout is how long an exchange may take when nobody says.
const httpTimeout = 30 * time.Second

// httpRows is the namespace http.
func httpRows() []memberRow {
	return []memberRow{
		{"http", "get(url: str, headers?: record, *, timeout?: duration)", "Fetches a URL: {status, ok, body, json, headers}.", httpPlain("GET")},
		{"http", "delete(url: str, headers?: record, *, timeout?: duration)", "Sends DELETE to a URL.", httpPlain("DELETE")},
		{"http", `post(url: str, body: any = "", headers?: record, *, timeout?: duration)`, "Sends a body to a URL, as feed would write it.", httpBody("POST")},
		{"http", `put(url: str, body: any = "", headers?: record, *, timeout?: duration)`, "Puts a body to a URL, as feed would write it.", httpBody("PUT")},
	}
}

// secretRows is the namespace secret.
func secretRows() []memberRow {
	return []memberRow{
		{"secret", "get(name: str)", "The secret of that name; its text is never shown.", secretGet},
	}
}

// memberEffects are those of the namespace members that reach the world.
var memberEffects = map[string]interp.EffectFunc{
	"http.get": httpEffects, "http.delete": httpEffects, "http.post": httpEffects, "http.put": httpEffects,
	"secret.get": secretEffects,
}

func httpPlain(method string) run {
	return func(c *interp.Call, a []value.Value) (value.Value, error) {
		return fetch(c, method, a[0], value.Null, a[1], a[2])
	}
}

func httpBody(method string) run {
	return func(c *interp.Call, a []value.Value) (value.Value, error) {
		return fetch(c, method, a[0], a[1], a[2], a[3])
	}
}

func fetch(c *interp.Call, method string, target, body, headers, timeout value.Value) (value.Value, error) {
	if c.M.Host() == nil || c.M.Host().Net == nil {
		return value.Null, argErr(c.Span, "%s: this host has no network", c.Name)
	}
	r := interp.NetRequest{Method: method, URL: target.AsStr(), Timeout: httpTimeout}
	if _, _, err := place(r.URL); err != "" {
		return value.Null, argErr(c.Span, "%s: %s", c.Name, err)
	}
	if !timeout.IsNull() {
		if r.Timeout = timeout.AsDuration(); r.Timeout <= 0 {
			return value.Null, argErr(c.Span, "%s: the timeout must be positive", c.Name)
		}
	}
	var err error
	if r.Header, err = headerFields(c, headers); err != nil {
		return value.Null, err
	}
	if !body.IsNull() {
		data, ferr := interp.FeedBytes(body)
		if ferr != nil {
			return value.Null, ferr.WithSpan(spanOf(c.Span))
		}
		r.Body = data
	}
	resp, err := c.M.Host().Net.Fetch(c.M.Context(), r)
	if err != nil {
		if cerr := c.M.Check(); cerr != nil {
			return value.Null, cerr
		}
		return value.Null, hostErr(c, err)
	}
	return response(resp), nil
}

// place is where a URL leads: host and port, or why it leads nowhere.
func place(target string) (host, port, bad string) {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return "", "", "bad URL: " + err.(*url.Error).Err.Error()
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", "a URL starts with http:// or https://"
	case u.Hostname() == "":
		return "", "", "the URL names no host"
	}
	if port = u.Port(); port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Hostname(), port, ""
}

// headerFields are the fields of a record; a secret goes out in clear.
func headerFields(c *interp.Call, v value.Value) ([]interp.HeaderField, error) {
	if v.IsNull() {
		return nil, nil
	}
	r := v.AsRecord()
	var out []interp.HeaderField
	for i, name := range r.Shape.Keys() {
		text := ""
		if f := r.Vals[i]; f.Kind() == value.KindSecret {
			text = f.AsSecret().Reveal()
		} else {
			var err *value.Error
			if text, err = value.ArgvText(f); err != nil {
				return nil, typeErr(c.Span, "%s: header %s: %s cannot be a header value", c.Name, name, f.Kind())
			}
		}
		if !headerName(name) || strings.ContainsAny(text, "\r\n\x00") {
			return nil, argErr(c.Span, "%s: header `%s` is no legal header", c.Name, name)
		}
		out = append(out, interp.HeaderField{Name: name, Value: text})
	}
	return out, nil
}

// headerName reports whether a name is made of the characters that HTTP allows.
func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

var responseShape = value.ShapeOf("status", "ok", "body", "json", "headers")

func response(r *interp.NetResponse) value.Value {
	body := string(r.Body)
	parsed := value.Null
	if utf8.ValidString(body) {
		if v, err := value.ParseJSON(body); err == nil {
			parsed = v
		}
	} else {
		body = strings.ToValidUTF8(body, "\uFFFD")
	}
	var headers value.RecordBuilder
	for _, f := range r.Header {
		headers.Add(f.Name, value.Str(strings.ToValidUTF8(f.Value, "\uFFFD")))
	}
	return value.NewRecord(responseShape, []value.Value{
		value.Int(int64(r.Status)), value.Bool(r.Status >= 200 && r.Status < 300),
		value.Str(body), parsed, headers.Done(),
	})
}

func httpEffects(args []interp.EffectArg, _ string) []effect.Effect {
	e := effect.Effect{Kind: effect.NetConnect, Host: effect.Any}
	if of := firstOr(args, "url"); len(of) > 0 && of[0].Known && of[0].Value.Kind() == value.KindStr {
		if host, port, bad := place(of[0].Value.AsStr()); bad == "" {
			e.Host, e.Port = host, port
		}
	}
	return []effect.Effect{e}
}

func secretGet(c *interp.Call, a []value.Value) (value.Value, error) {
	name := a[0].AsStr()
	if c.M.Host() == nil || c.M.Host().Secrets == nil {
		return value.Null, codeErr(c.Span, value.CodeNotFound, "no secret named `%s`: this host has no store", name)
	}
	text, err := c.M.Host().Secrets.Secret(c.M.Context(), name)
	switch {
	case err != nil:
		return value.Null, hostErr(c, err)
	case !utf8.Valid(text):
		return value.Null, codeErr(c.Span, value.CodeUTF8, "secret `%s` is not UTF-8", name)
	}
	return value.NewSecret(name, string(text)), nil
}

func secretEffects(args []interp.EffectArg, _ string) []effect.Effect {
	name := effect.Any
	if of := firstOr(args, "name"); len(of) > 0 && of[0].Known && of[0].Value.Kind() == value.KindStr {
		name = of[0].Value.AsStr()
	}
	return []effect.Effect{{Kind: effect.SecretUse, Name: name}}
}
