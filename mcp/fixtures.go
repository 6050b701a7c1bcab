//go:build conformance

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

// What the official conformance suite wants to find in a server: tools, resources
// and prompts with fixed names, added to the facade in builds with the tag
// conformance. They use the same loop, notices and questions as everything else.

func init() {
	fixtures.add = addFixtures
	fixtures.route = routeFixture
}

// A picture of one pixel and a sound without samples.
const (
	onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence  = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// fixtureTool gives the content of a result, as JSON, and whether it is an error.
type fixtureTool func(ctx context.Context, f *fixtureCall) (content string, isError bool)

// fixtureCall is the call of a fixture.
type fixtureCall struct {
	p    *peer
	id   json.RawMessage
	m    meta
	args json.RawMessage
}

func textContent(text string) string { return `{"type":"text","text":` + quoted(text) + `}` }

func quoted(text string) string { return string(messages.AppendString(nil, text)) }

func constant(content string) fixtureTool {
	return func(context.Context, *fixtureCall) (string, bool) { return content, false }
}

const (
	imageContent = `{"type":"image","data":"` + onePixel + `","mimeType":"image/png"}`
	audioContent = `{"type":"audio","data":"` + silence + `","mimeType":"audio/wav"}`
)

var fixtureTools = map[string]fixtureTool{
	"test_simple_text":   constant(textContent("This is a simple text response for testing.")),
	"test_image_content": constant(imageContent),
	"test_audio_content": constant(audioContent),
	"test_embedded_resource": constant(
		`{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}`),
	"test_multiple_content_types": constant(textContent("Multiple content types test:") + "," + imageContent + "," +
		`{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}`),
	"test_error_handling": func(context.Context, *fixtureCall) (string, bool) {
		return textContent("This tool intentionally returns an error for testing"), true
	},
	"test_tool_with_logging":  logAlong,
	"test_tool_with_progress": progressAlong,
	"test_sampling": func(ctx context.Context, f *fixtureCall) (string, bool) {
		return f.ask(ctx, "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":`+
			quoted(unquote(member(f.args, "prompt")))+`}}],"maxTokens":100}`, "LLM response: ")
	},
	"test_elicitation": func(ctx context.Context, f *fixtureCall) (string, bool) {
		return f.elicit(ctx, unquote(member(f.args, "message")), `{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}`, "User response: ")
	},
	"test_elicitation_sep1034_defaults": func(ctx context.Context, f *fixtureCall) (string, bool) {
		return f.elicit(ctx, "Give your particulars", `{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},`+
			`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`, "Elicitation completed: ")
	},
	"test_elicitation_sep1330_enums": func(ctx context.Context, f *fixtureCall) (string, bool) {
		return f.elicit(ctx, "Choose", `{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},`+
			`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]},`+
			`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},`+
			`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},`+
			`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]}}}`, "Elicitation completed: ")
	},
	"json_schema_2020_12_tool": constant(textContent("ok")),
}

// fixtureSchemas are the input schemas of the tools that take something.
var fixtureSchemas = map[string]string{
	"test_sampling":    `{"type":"object","properties":{"prompt":{"type":"string","description":"Prompt"}},"required":["prompt"]}`,
	"test_elicitation": `{"type":"object","properties":{"message":{"type":"string","description":"Message"}},"required":["message"]}`,
	"json_schema_2020_12_tool": `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
		`"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
		`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`,
}

// pause is how long a fixture works between two words.
func pause(ctx context.Context) { sleep(ctx, 50*time.Millisecond) }

func logAlong(ctx context.Context, f *fixtureCall) (string, bool) {
	for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		f.p.log(origin{id: f.id, meta: f.m}, mcp.LoggingLevelInfo, text)
		pause(ctx)
	}
	return textContent("Tool with logging executed successfully"), false
}

func progressAlong(ctx context.Context, f *fixtureCall) (string, bool) {
	for _, n := range []int{0, 50, 100} {
		if f.m.token != nil {
			params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"total":100}`, f.m.token, n)
			f.p.sendFor(f.id, notificationFrame("notifications/progress", params))
		}
		pause(ctx)
	}
	return textContent("Tool with progress executed successfully"), false
}

// ask asks the client and shows what it answered.
func (f *fixtureCall) ask(ctx context.Context, method, params, what string) (string, bool) {
	result, answered, _ := f.p.askClient(ctx, f.id, method, json.RawMessage(params), time.Now().Add(time.Minute))
	if !answered || result == nil {
		return textContent("the client did not answer"), true
	}
	if text := member(member(result, "content"), "text"); text != nil {
		return textContent(what + unquote(text)), false
	}
	return textContent(what + "action=" + unquote(member(result, "action")) + ", content=" + string(member(result, "content"))), false
}

func (f *fixtureCall) elicit(ctx context.Context, message, properties, what string) (string, bool) {
	return f.ask(ctx, "elicitation/create", `{"message":`+quoted(message)+`,"requestedSchema":{"type":"object","properties":`+properties+`}}`, what)
}

// addFixtures lists them.
func addFixtures(s *Server) {
	for _, name := range slices.Sorted(maps.Keys(fixtureTools)) {
		schema := fixtureSchemas[name]
		if schema == "" {
			schema = `{"type":"object","properties":{}}`
		}
		s.library.AddTool(mcp.NewToolWithRawSchema(name, "Fixture of the conformance suite.", json.RawMessage(schema)), onlyByLoop)
	}
	s.library.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")), nil)
	user := func(content ...mcp.Content) *mcp.GetPromptResult {
		r := &mcp.GetPromptResult{}
		for _, c := range content {
			r.Messages = append(r.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
		}
		return r
	}
	prompt := func(name string, args []string, get func(given map[string]string) *mcp.GetPromptResult) {
		o := []mcp.PromptOption{mcp.WithPromptDescription("Fixture of the conformance suite.")}
		for _, arg := range args {
			o = append(o, mcp.WithArgument(arg, mcp.ArgumentDescription("An argument"), mcp.RequiredArgument()))
		}
		s.library.AddPrompt(mcp.NewPrompt(name, o...), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return get(r.Params.Arguments), nil
		})
	}
	prompt("test_simple_prompt", nil, func(map[string]string) *mcp.GetPromptResult {
		return user(mcp.NewTextContent("This is a simple prompt for testing."))
	})
	prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(given map[string]string) *mcp.GetPromptResult {
		return user(mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", given["arg1"], given["arg2"])))
	})
	prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(given map[string]string) *mcp.GetPromptResult {
		return user(mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: given["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}),
			mcp.NewTextContent("Please process the embedded resource above."))
	})
	prompt("test_prompt_with_image", nil, func(map[string]string) *mcp.GetPromptResult {
		return user(mcp.NewImageContent(onePixel, "image/png"), mcp.NewTextContent("Please analyze the image above."))
	})
}

// fixtureResources are what is read under test://.
func fixtureResource(uri string) (json.RawMessage, bool) {
	contents := ""
	id, rest, _ := strings.Cut(strings.TrimPrefix(uri, "test://template/"), "/")
	switch {
	case uri == "test://static-text":
		contents = `"mimeType":"text/plain","text":"This is the content of the static text resource."`
	case uri == "test://static-binary":
		contents = `"mimeType":"image/png","blob":"` + onePixel + `"`
	case uri == "test://watched-resource":
		contents = `"mimeType":"text/plain","text":"Watched."`
	case strings.HasPrefix(uri, "test://template/") && rest == "data":
		contents = `"mimeType":"application/json","text":` + quoted(`{"id":`+quoted(id)+`,"templateTest":true,"data":`+quoted("Data for ID: "+id)+`}`)
	default:
		return nil, false
	}
	return json.RawMessage(`{"contents":[{"uri":` + quoted(uri) + `,` + contents + `}]}`), true
}

// routeFixture takes the requests that are about fixtures.
func routeFixture(p *peer, req request) (job, bool) {
	answer := func(result json.RawMessage) (job, bool) {
		return job{run: func(context.Context) (json.RawMessage, *messages.Error) { return result, nil }}, true
	}
	switch req.method {
	case "tools/call":
		run := fixtureTools[unquote(member(req.params, "name"))]
		if run == nil {
			return job{}, false
		}
		f := &fixtureCall{p: p, id: slices.Clone(req.id), m: req.meta.own(), args: slices.Clone(member(req.params, "arguments"))}
		return job{run: func(ctx context.Context) (json.RawMessage, *messages.Error) {
			content, isError := run(ctx, f)
			return fmt.Appendf(nil, `{"content":[%s],"isError":%t}`, content, isError), nil
		}}, true
	case "resources/read":
		if result, known := fixtureResource(unquote(member(req.params, "uri"))); known {
			return answer(result)
		}
	case "resources/subscribe", "resources/unsubscribe":
		if strings.HasPrefix(unquote(member(req.params, "uri")), "test://") {
			return answer(json.RawMessage("{}"))
		}
	}
	return job{}, false
}
