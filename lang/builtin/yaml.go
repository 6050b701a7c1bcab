package builtin

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// maxShared is how many values the aliases of a document may stand for beyond
// those that are written out.
const maxShared = 1 << 20

// yamlRows is the namespace yaml.
func yamlRows() []memberRow {
	return []memberRow{
		{"yaml", "parse(text: str)", "The value of a YAML document; timestamps stay str.", yamlParse},
		{"yaml", "stringify(value: any)", "The value as a YAML document, with the values that JSON has.", yamlStringify},
	}
}

// maxYAML is the length in bytes of a YAML document that is read, and of the JSON
// of values that are written: nodes take some fifty times as much.
const maxYAML = 16 << 20

func yamlParse(c *interp.Call, a []value.Value) (value.Value, error) {
	if err := fits(c, "yaml.parse", a[0], maxYAML); err != nil {
		return value.Null, err
	}
	return perhapsApart(c, len(a[0].AsStr()) > longText, func(stop func() error) (value.Value, error) {
		v, err := parseYAML(a[0].AsStr(), stop)
		if err != nil {
			return value.Null, argErr(c.Span, "yaml.parse: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		return v, nil
	})
}

// fits refuses a document that is longer than most bytes.
func fits(c *interp.Call, name string, text value.Value, most int) error {
	if n := len(text.AsStr()); n > most {
		e := value.Errorf(value.CodeOverflow, "%s: the document has %d bytes, at most %d are read", name, n, most)
		return e.WithHint("read it in parts, or convert it to JSON with a program").WithSpan(spanOf(c.Span))
	}
	return nil
}

// stoppable reads a text as long as stop allows it.
type stoppable struct {
	strings.Reader
	stop func() error
}

func newStoppable(text string, stop func() error) *stoppable {
	return &stoppable{*strings.NewReader(text), stop}
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.stop(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

// parseYAML is the value of a document; an error of stop, which is asked now
// and then, ends the work.
func parseYAML(text string, stop func() error) (v value.Value, err error) {
	defer func() {
		if cause := recover(); cause != nil { // the parser's own faults on hostile text
			v, err = value.Null, fmt.Errorf("unreadable document: %v", cause)
		}
	}()
	d := yaml.NewDecoder(newStoppable(text, stop))
	var doc yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return value.Null, nil
	case err != nil:
		return value.Null, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("more than one document")
		}
		return value.Null, err
	}
	r := yamlReader{anchors: map[*yaml.Node]anchored{}, open: map[*yaml.Node]bool{}, stop: stop}
	v, _, err = r.node(&doc, 0)
	return v, err
}

// yamlReader makes values of nodes. What aliases stand for is made once, and
// counted: a small document must not stand for a huge value.
type yamlReader struct {
	anchors map[*yaml.Node]anchored
	open    map[*yaml.Node]bool
	shared  int
	stop    func() error
}

type anchored struct {
	v    value.Value
	size int
}

// node gives a node's value and how many values are in it.
func (r *yamlReader) node(n *yaml.Node, depth int) (value.Value, int, error) {
	if depth > maxDepth {
		return value.Null, 0, fmt.Errorf("line %d: nesting deeper than %d", n.Line, maxDepth)
	}
	if err := r.stop(); err != nil {
		return value.Null, 0, err
	}
	if n.Anchor == "" {
		return r.plain(n, depth)
	}
	if r.open[n] {
		return value.Null, 0, fmt.Errorf("line %d: anchor `%s` contains itself", n.Line, n.Anchor)
	}
	r.open[n] = true
	defer delete(r.open, n)
	v, size, err := r.plain(n, depth)
	r.anchors[n] = anchored{v, size}
	return v, size, err
}

func (r *yamlReader) plain(n *yaml.Node, depth int) (value.Value, int, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return value.Null, 1, nil
		}
		return r.node(n.Content[0], depth)
	case yaml.AliasNode:
		return r.alias(n)
	case yaml.SequenceNode:
		items := make([]value.Value, 0, len(n.Content))
		total := 1
		for _, c := range n.Content {
			v, size, err := r.node(c, depth+1)
			if err != nil {
				return value.Null, 0, err
			}
			items = append(items, v)
			total += size
		}
		return listOrTable(items), total, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	}
	v, err := yamlScalar(n)
	return v, 1, err
}

func (r *yamlReader) alias(n *yaml.Node) (value.Value, int, error) {
	a, ok := r.anchors[n.Alias]
	if !ok || r.open[n.Alias] {
		return value.Null, 0, fmt.Errorf("line %d: anchor `%s` contains itself", n.Line, n.Value)
	}
	if r.shared += a.size; r.shared > maxShared {
		return value.Null, 0, fmt.Errorf("line %d: aliases stand for more than %d values", n.Line, maxShared)
	}
	return a.v, a.size, nil
}

// mapping is a record. The fields of a merge key come after those that are
// written out, which win.
func (r *yamlReader) mapping(n *yaml.Node, depth int) (value.Value, int, error) {
	var b value.RecordBuilder
	seen := map[string]bool{}
	var merged []*yaml.Node
	total := 1
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return value.Null, 0, fmt.Errorf("line %d: a key must be a scalar", key.Line)
		case key.ShortTag() == "!!merge":
			merged = append(merged, val)
			continue
		}
		v, size, err := r.node(val, depth+1)
		if err != nil {
			return value.Null, 0, err
		}
		b.Add(key.Value, v)
		seen[key.Value] = true
		total += size
	}
	for _, m := range merged {
		size, err := r.merge(&b, seen, m, depth+1)
		if err != nil {
			return value.Null, 0, err
		}
		total += size
	}
	return b.Done(), total, nil
}

func (r *yamlReader) merge(b *value.RecordBuilder, seen map[string]bool, n *yaml.Node, depth int) (int, error) {
	v, size, err := r.node(n, depth)
	if err != nil {
		return 0, err
	}
	var from []*value.Record
	switch v.Kind() {
	case value.KindRecord:
		from = append(from, v.AsRecord())
	case value.KindTable:
		from = v.AsTable().Rows()
	default:
		return 0, fmt.Errorf("line %d: a merge key takes a mapping", n.Line)
	}
	for _, rec := range from {
		for i, key := range rec.Shape.Keys() {
			if !seen[key] {
				seen[key] = true
				b.Add(key, rec.Vals[i])
			}
		}
	}
	return size, nil
}

// The numbers of the core schema of YAML 1.2. What other readers take for one
// besides, such as 0b1, 1_000 and 1:30, is text.
var (
	yamlIntText   = regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	yamlFloatText = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// yamlWords are the plain scalars of the core schema that are no numbers.
var yamlWords = map[string]value.Value{
	"": value.Null, "~": value.Null, "null": value.Null, "Null": value.Null, "NULL": value.Null,
	"true": value.Bool(true), "True": value.Bool(true), "TRUE": value.Bool(true),
	"false": value.Bool(false), "False": value.Bool(false), "FALSE": value.Bool(false),
	".nan": value.Float(math.NaN()), ".NaN": value.Float(math.NaN()), ".NAN": value.Float(math.NaN()),
	".inf": value.Float(math.Inf(1)), ".Inf": value.Float(math.Inf(1)), ".INF": value.Float(math.Inf(1)),
	"+.inf": value.Float(math.Inf(1)), "+.Inf": value.Float(math.Inf(1)), "+.INF": value.Float(math.Inf(1)),
	"-.inf": value.Float(math.Inf(-1)), "-.Inf": value.Float(math.Inf(-1)), "-.INF": value.Float(math.Inf(-1)),
}

// yamlScalar is the value of a scalar: text where it has quotes, is a block or
// says so, else by the core schema.
func yamlScalar(n *yaml.Node) (value.Value, error) {
	tagged := n.Style&yaml.TaggedStyle != 0
	const text = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&text != 0 && !tagged {
		return value.Str(n.Value), nil
	}
	v := yamlPlain(n.Value)
	if !tagged {
		return v, nil
	}
	kinds, known := map[string][]value.Kind{
		"!!null": {value.KindNull}, "!!bool": {value.KindBool}, "!!int": {value.KindInt}, "!!float": {value.KindFloat, value.KindInt},
	}[n.ShortTag()]
	switch {
	case !known:
		return value.Str(n.Value), nil
	case !slices.Contains(kinds, v.Kind()):
		return value.Null, fmt.Errorf("line %d: %q is no %s", n.Line, n.Value, n.ShortTag())
	case n.ShortTag() == "!!float" && v.Kind() == value.KindInt:
		return value.Float(float64(v.AsInt())), nil
	}
	return v, nil
}

// yamlPlain is what the core schema makes of a plain scalar. An int that has no
// room is a float.
func yamlPlain(text string) value.Value {
	if v, ok := yamlWords[text]; ok {
		return v
	}
	c := text[0]
	if c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return value.Str(text)
	}
	if yamlIntText.MatchString(text) {
		digits, base := text, 10
		if strings.HasPrefix(text, "0o") || strings.HasPrefix(text, "0x") {
			base = map[byte]int{'o': 8, 'x': 16}[text[1]]
			digits = text[2:]
		}
		if i, err := strconv.ParseInt(digits, base, 64); err == nil {
			return value.Int(i)
		}
		if big, ok := new(big.Float).SetString(text); ok {
			f, _ := big.Float64()
			return value.Float(f)
		}
	}
	if yamlFloatText.MatchString(text) {
		f, _ := strconv.ParseFloat(text, 64) // infinite beyond the range
		return value.Float(f)
	}
	return value.Str(text)
}

func yamlStringify(c *interp.Call, a []value.Value) (value.Value, error) {
	// Through JSON, which has the same values and says what becomes of others.
	text, jerr := value.JSONUntil(a[0], false, c.M.Check)
	if jerr != nil {
		return value.Null, jerr.WithSpan(spanOf(c.Span))
	}
	if len(text) > maxYAML {
		return value.Null, codeErr(c.Span, value.CodeOverflow, "yaml.stringify: the values have %d bytes, at most %d are written", len(text), maxYAML)
	}
	v, jerr := value.ParseJSONUntil(text, c.M.Check)
	if jerr != nil {
		return value.Null, jerr.WithSpan(spanOf(c.Span))
	}
	out, err := perhapsApart(c, len(text) > longText, func(stop func() error) (string, error) { return writeYAML(v, stop) })
	if e, ok := err.(*value.Error); ok {
		return value.Null, e
	}
	if err != nil {
		return value.Null, argErr(c.Span, "yaml.stringify: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return value.Str(out), nil
}

// stoppedWriter collects what is written until stop gives an error.
type stoppedWriter struct {
	out  []byte
	stop func() error
}

func (s *stoppedWriter) Write(p []byte) (int, error) {
	if err := s.stop(); err != nil {
		return 0, err
	}
	s.out = value.Extend(s.out, p)
	return len(p), nil
}

// writeYAML spells a value of the JSON data model.
func writeYAML(v value.Value, stop func() error) (string, error) {
	w := &stoppedWriter{stop: stop}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	nodes := yamlNodes{stop: stop}
	doc := nodes.node(v)
	if nodes.halted != nil {
		return "", nodes.halted
	}
	if err := e.Encode(doc); err != nil {
		return "", err
	}
	if err := e.Close(); err != nil {
		return "", err
	}
	return value.TextOf(w.out), nil
}

// yamlNodes makes nodes of values.
type yamlNodes struct {
	stop   func() error
	n      int   // values so far
	halted error // what stop gave: the nodes are of no use
}

// node is a value of the JSON data model as a node.
func (y *yamlNodes) node(v value.Value) *yaml.Node {
	if y.n++; y.n%piecesPerCheck == 0 && y.halted == nil {
		y.halted = y.stop()
	}
	if y.halted != nil {
		return nil
	}
	switch v.Kind() {
	case value.KindNull:
		return yamlText("!!null", "null")
	case value.KindBool:
		return yamlText("!!bool", inline(v))
	case value.KindInt:
		return yamlText("!!int", inline(v))
	case value.KindFloat:
		return yamlText("!!float", yamlFloat(v.AsFloat()))
	case value.KindList:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v.AsList().Items {
			n.Content = append(n.Content, y.node(item))
		}
		return n
	case value.KindTable:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for row := range v.AsTable().Borrowed() {
			n.Content = append(n.Content, y.node(row.Value()))
		}
		return n
	case value.KindRecord:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		r := v.AsRecord()
		for i, key := range r.Shape.Keys() {
			n.Content = append(n.Content, yamlString(key), y.node(r.Vals[i]))
		}
		return n
	}
	return yamlString(v.AsStr())
}

func yamlText(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// yamlString is text that reads back as text everywhere: older readers take
// yes and on for booleans, and << merges.
func yamlString(s string) *yaml.Node {
	n := yamlText("!!str", s)
	switch strings.ToLower(s[:min(len(s), len("false")+1)]) { // none of them is longer
	case "y", "n", "yes", "no", "on", "off", "<<", "=", "":
		n.Style = yaml.DoubleQuotedStyle
	default:
		plain := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
		switch {
		case plain.ShortTag() != "!!str", yamlPlain(s).Kind() != value.KindStr, strings.ContainsAny(s, "\r\u0085\u2028\u2029\ufeff\t"):
			n.Style = yaml.DoubleQuotedStyle
		case strings.Contains(s, "\n"):
			n.Style = yaml.DoubleQuotedStyle
			if s == strings.TrimSpace(s)+"\n" || s == strings.TrimSpace(s) {
				n.Style = yaml.LiteralStyle
			}
		}
	}
	return n
}

func yamlFloat(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return fmt.Sprintf("%.1f", f)
	}
	return string(value.AppendJSONFloat(nil, f))
}
