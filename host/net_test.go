package host

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// site is a small web server.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Many", "a")
		w.Header().Add("X-Many", "b")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"method":%q,"body":%q,"auth":%q,"agent":%q}`, r.Method, body, r.Header.Get("Authorization"), r.UserAgent())
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", http.StatusNotFound) })
	mux.HandleFunc("/binary", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte{0xff, 'a'}) })
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for range 65 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/hop/", func(w http.ResponseWriter, r *http.Request) {
		n := 0
		fmt.Sscanf(r.URL.Path, "/hop/%d", &n)
		if n == 0 {
			io.WriteString(w, "arrived")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/hop/%d", n-1), http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://forbidden.invalid/", http.StatusFound)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// secrets is a store with one secret and one that is no text.
type secrets struct{}

func (secrets) Secret(_ context.Context, name string) ([]byte, error) {
	switch name {
	case "key":
		return []byte("s3cret"), nil
	case "bytes":
		return []byte{0xff}, nil
	}
	return nil, value.Errorf(value.CodeNotFound, "no secret named `%s`", name)
}

func evaluate(t *testing.T, ctx context.Context, h *interp.Host, src string) string {
	t.Helper()
	s := interp.NewState(t.TempDir(), nil)
	p, perr := lang.NewCompiler().Compile(src, s)
	if perr != nil {
		t.Fatalf("%s: %v", src, perr)
	}
	v, err := p.Run(ctx, interp.Run{State: s, Host: h})
	if err != nil {
		return err.Error()
	}
	return value.Inline(v)
}

func TestHTTP(t *testing.T) {
	server := site(t)
	// A proxy that would break every request.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	h := &interp.Host{Net: Net{}, Secrets: secrets{}}
	cases := []struct{ name, src, want string }{
		{"get", `let r = http.get("URL/echo"); [r.status, r.ok, r.json.method, r.headers["content-type"]]`, `[200, true, "GET", "application/json"]`},
		{"repeated header", `http.get("URL/echo").headers["x-many"]`, `"a, b"`},
		{"delete", `http.delete("URL/echo").json.method`, `"DELETE"`},
		{"post text", `http.post("URL/echo", "hi").json.body`, `"hi"`},
		{"post nothing", `http.post("URL/echo").json.body`, `""`},
		{"post record", `http.post("URL/echo", {a: [1, 2]}).json.body`, `"{\"a\":[1,2]}"`},
		{"put lines", `http.put("URL/echo", ["a", "b"]).json.body`, `"a\nb\n"`},
		{"post closure", `http.post("URL/echo", x => x)`, "feed_error: cannot feed closure to a command"},
		{"headers by name", `http.get("URL/echo", headers: {Authorization: "me"}).json.auth`, `"me"`},
		{"headers by place", `http.get("URL/echo", {Authorization: "me"}).json.auth`, `"me"`},
		{"headers of post by place", `http.post("URL/echo", "x", {Authorization: "me"}).json.auth`, `"me"`},
		{"secret header", `http.get("URL/echo", {Authorization: secret.get("key")}).json.auth`, `"s3cret"`},
		{"secret is not shown", `secret.get("key")`, `secret(key)`},
		{"secret in text", `"{secret.get("key")}"`, "type_error"},
		{"secret that is no text", `secret.get("bytes")`, "utf8_error"},
		{"unknown secret", `secret.get("zzz")`, "not_found"},
		{"header injection", `http.get("URL/echo", {A: "x\r\nB: y"})`, "arg_error"},
		{"header name", `http.get("URL/echo", {"a b": "x"})`, "arg_error"},
		{"header of another type", `http.get("URL/echo", {A: [1]})`, "type_error"},
		{"status is no error", `let r = http.get("URL/gone"); [r.status, r.ok, r.body.trim(), r.json]`, `[404, false, "not here", null]`},
		{"binary body", `http.get("URL/binary").body`, `"�a"`},
		{"too large", `http.get("URL/huge")`, "net_error"},
		{"redirects", `http.get("URL/hop/10").body`, `"arrived"`},
		{"too many redirects", `http.get("URL/hop/11")`, "net_error"},
		{"redirect to a file", `http.get("URL/file")`, "net_error"},
		{"timeout", `http.get("URL/slow", timeout: 20ms)`, "net_error"},
		{"bad timeout", `http.get("URL/echo", timeout: 0s)`, "arg_error"},
		{"cut off", `http.get("URL/cut")`, "net_error"},
		{"refused", `http.get("http://127.0.0.1:1/")`, "net_error"},
		{"other scheme", `http.get("ftp://x/")`, "arg_error"},
		{"no host", `http.get("http:///x")`, "arg_error"},
		{"no address", `http.get("::")`, "arg_error"},
		{"unknown argument", `http.get("URL/echo", verify: false)`, "arg_error"},
		{"surplus argument", `http.get("URL/echo", {}, {})`, "arg_error"},
		{"not a str", `http.get(3)`, "type_error"},
		{"caught", `http.get("http://127.0.0.1:1/") catch e { e.code }`, `"net_error"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := evaluate(t, t.Context(), h, strings.ReplaceAll(c.src, "URL", server.URL))
			if code := !strings.ContainsAny(c.want, "\"[(") && !strings.Contains(c.want, " "); got != c.want && !(code && strings.HasPrefix(got, c.want+": ")) {
				t.Errorf("got %.200s, want %s", got, c.want)
			}
		})
	}
}

func TestHTTPIsCancelled(t *testing.T) {
	server := site(t)
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(20*time.Millisecond, cancel)
	defer timer.Stop()
	if got := evaluate(t, ctx, &interp.Host{Net: Net{}}, `http.get("`+server.URL+`/slow")`); !strings.HasPrefix(got, "cancelled") {
		t.Errorf("got %s", got)
	}
}

// Every place that a request goes to is judged, that of a redirect before it is
// connected to.
func TestGuardedNet(t *testing.T) {
	server := site(t)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	h := Guard(&interp.Host{Net: Net{}, Secrets: secrets{}}, func(e effect.Effect) *value.Error {
		asked = append(asked, e.String())
		if e.Host == at.Hostname() || e.Name == "key" {
			return nil
		}
		return value.Errorf(value.CodePermission, "no %s", e)
	})
	if got := evaluate(t, t.Context(), h, `http.get("`+server.URL+`/away")`); !strings.HasPrefix(got, "permission: no net.connect(forbidden.invalid:80)") {
		t.Errorf("got %s", got)
	}
	if got := evaluate(t, t.Context(), h, `http.get("https://elsewhere.invalid")`); !strings.HasPrefix(got, "permission") {
		t.Errorf("got %s", got)
	}
	if got := evaluate(t, t.Context(), h, `[secret.get("key"), secret.get("other") catch e { e.code }]`); got != `[secret(key), "permission"]` {
		t.Errorf("got %s", got)
	}
	if len(asked) != 5 || asked[0] != "net.connect("+net.JoinHostPort(at.Hostname(), at.Port())+")" {
		t.Errorf("asked %q", asked)
	}
}
