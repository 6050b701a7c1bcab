package wire

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
)

type decodeInner struct {
	MaxBytes *int `json:"max_bytes"`
}

type decodeBase struct {
	Session string `json:"session"`
}

type decodeParams struct {
	decodeBase
	Src     string            `json:"src" wire:"required"`
	Async   bool              `json:"async"`
	Since   int64             `json:"since"`
	Seq     *uint64           `json:"seq"`
	Rate    float64           `json:"rate"`
	Elide   *decodeInner      `json:"elide"`
	Slice   *[2]int64         `json:"slice"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Effects []effect.Kind     `json:"effects"`
	Bytes   []byte            `json:"bytes"`
	Any     json.RawMessage   `json:"any"`
	Hidden  int               `json:"-"`
}

func TestDecode(t *testing.T) {
	var p decodeParams
	in := `{"src":"x","session":"s","async":true,"since":9007199254740993,"seq":18446744073709551615,` +
		`"rate":1.5,"elide":{"max_bytes":3},"slice":[1,2],"args":["a","b"],"env":{"A":"1"},"effects":["fs.read","fs_write"],"bytes":"aGk=","any":null}`
	if err := Decode(json.RawMessage(in), &p); err != nil {
		t.Fatal(err)
	}
	three, seq := 3, uint64(math.MaxUint64)
	want := decodeParams{
		decodeBase: decodeBase{"s"}, Src: "x", Async: true, Since: 9007199254740993, Seq: &seq, Rate: 1.5,
		Elide: &decodeInner{&three}, Slice: &[2]int64{1, 2}, Args: []string{"a", "b"},
		Env: map[string]string{"A": "1"}, Effects: []effect.Kind{effect.FSRead, effect.FSWrite},
		Bytes: []byte("hi"), Any: json.RawMessage(`null`),
	}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(decodeParams{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, "src: required property is missing (a string)"},
		{`{}`, "src: required property is missing (a string)"},
		{`null`, "src: required"},
		{`[]`, "params: expected an object, got []"},
		{`"x"`, "params: expected an object"},
		{`{"src":"x"} {}`, "expected one JSON object"},
		{`{"src":"x",}`, "expected one JSON object"},
		{`{"src":1}`, "src: expected a string, got 1"},
		{`{"src":null}`, "src: expected a string, got null"},
		{`{"SRC":"x"}`, "SRC: unknown property (known: session, src,"},
		{`{"src":"x","src":"y"}`, "src: property is given twice"},
		{`{"src":"x","Hidden":1}`, "Hidden: unknown property"},
		{`{"src":"x","-":1}`, "-: unknown property"},
		{`{"src":"x","async":"true"}`, "async: expected a boolean"},
		{`{"src":"x","since":1.5}`, "since: expected an integer of 64 bits, got 1.5"},
		{`{"src":"x","since":1.0}`, "since: expected an integer"},
		{`{"src":"x","since":9223372036854775808}`, "since: expected an integer of 64 bits, got 9223372036854775808"},
		{`{"src":"x","seq":-1}`, "seq: expected a non-negative integer"},
		{`{"src":"x","rate":"1"}`, "rate: expected a number"},
		{`{"src":"x","elide":{"max_rows":1}}`, "elide.max_rows: unknown property (known: max_bytes)"},
		{`{"src":"x","elide":{"max_bytes":"1"}}`, "elide.max_bytes: expected an integer"},
		{`{"src":"x","elide":3}`, "elide: expected an object, got 3"},
		{`{"src":"x","slice":[1]}`, "slice: expected an array of 2 items, got 1 items"},
		{`{"src":"x","slice":[1,"a"]}`, "slice[1]: expected an integer"},
		{`{"src":"x","args":"a"}`, `args: expected an array, got "a"`},
		{`{"src":"x","args":["a",2]}`, "args[1]: expected a string, got 2"},
		{`{"src":"x","env":{"A":1}}`, "env.A: expected a string, got 1"},
		{`{"src":"x","env":{"A":"1","A":"2"}}`, "env.A: property is given twice"},
		{`{"src":"x","effects":["no_such"]}`, "effects[0]: "},
		{`{"src":"x","bytes":"*"}`, "bytes: expected a base64 string"},
		{`{"src":"x","bytes":[1]}`, "bytes: expected a base64 string"},
		{`{"` + strings.Repeat("ü", 5000) + `":1}`, "ü…: unknown property"},
	}
	for _, tt := range tests {
		err := Decode(json.RawMessage(tt.in), new(decodeParams))
		if err == nil || err.Code != messages.CodeInvalidParams || !strings.Contains(err.Message, tt.want) {
			t.Errorf("Decode(%.60s): got %v, want -32602 with %q", tt.in, err, tt.want)
		}
		if err != nil && len(err.Message) > 600 {
			t.Errorf("Decode(%.60s): message has %d bytes", tt.in, len(err.Message))
		}
	}
}

func TestDecodeWithoutStructIsOurFault(t *testing.T) {
	if err := Decode(nil, new(int)); err == nil || err.Code != messages.CodeInternal {
		t.Errorf("got %v, want -32603", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"src":"x","slice":[1,2],"env":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := Decode(data, new(decodeParams)); err != nil && err.Message == "" {
			t.Error("refusal without a message")
		}
	})
}
