package lang

import (
	"maps"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// inferred is what is known of an expression's value without evaluating it.
type inferred struct {
	known bool
	kind  value.Kind
	has   bool // v is the value, or was it just now
	v     value.Value
	keys  []string // fields of a record that is written out
}

func kindOf(k value.Kind) inferred { return inferred{known: true, kind: k} }

func valueOf(v value.Value) inferred { return inferred{known: true, kind: v.Kind(), has: true, v: v} }

// infer looks at the expression that a text ends with.
func (c *completer) infer(text string) inferred {
	recv := receiverText(text)
	if recv == "" {
		return inferred{}
	}
	x := parsedExpr(recv, c.knownNames())
	if _, bare := x.(*syntax.Command); bare || x == nil { // a name that is not bound
		return inferred{}
	}
	return c.kindOfExpr(x, maxInferSteps)
}

// maxInferSteps bounds how many names are followed for one answer.
const maxInferSteps = 16

// knownNames are the session's names and the variables of the source.
func (c *completer) knownNames() syntax.Names {
	names := c.state.Names()
	names.Value = maps.Clone(names.Value)
	if names.Value == nil {
		names.Value = map[string]bool{}
	}
	for _, m := range declared.FindAllStringSubmatch(c.src[:c.start], -1) {
		if m[1] == "let" || m[1] == "var" {
			names.Value[m[2]] = true
		}
	}
	return names
}

// parsedExpr is a source that is one expression; nil when it is none.
func parsedExpr(src string, names syntax.Names) syntax.Expr {
	prog, err := syntax.Parse("("+src+")", names)
	if err != nil || len(prog.Stmts) != 1 {
		return nil
	}
	s, ok := prog.Stmts[0].(*syntax.ExprStmt)
	if !ok {
		return nil
	}
	p, ok := s.X.(*syntax.Paren)
	if !ok {
		return nil
	}
	return p.X
}

// receiverText is the operand, with its members, calls and indexes, that a text
// ends with.
func receiverText(text string) string {
	end := len(text)
	for i := end; i > 0; {
		b := text[i-1]
		switch {
		case isWordByte(b), b == '.', b == '?':
			i--
		case b == ')' || b == ']' || b == '}':
			open := openerOf(text[:i])
			if open < 0 {
				return ""
			}
			i = open
			if b == '}' {
				return text[i:end]
			}
		case b == '"' || b == '\'':
			open := strings.LastIndexByte(text[:i-1], b)
			if open < 0 {
				return ""
			}
			return text[open:end]
		default:
			return text[i:end]
		}
		if i == 0 {
			return text[:end]
		}
	}
	return ""
}

// openerOf is where the bracket was opened that a text ends with, or -1.
func openerOf(text string) int {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

var literalKinds = map[syntax.LitKind]value.Kind{
	syntax.LitNull: value.KindNull, syntax.LitBool: value.KindBool, syntax.LitInt: value.KindInt,
	syntax.LitFloat: value.KindFloat, syntax.LitStr: value.KindStr, syntax.LitSize: value.KindSize,
	syntax.LitDuration: value.KindDuration, syntax.LitTime: value.KindTime, syntax.LitRegex: value.KindRegex,
	syntax.LitDatetime: value.KindDatetime, syntax.LitPath: value.KindPath,
}

func (c *completer) kindOfExpr(x syntax.Expr, steps int) inferred {
	if steps == 0 {
		return inferred{}
	}
	switch x := x.(type) {
	case *syntax.Literal:
		return kindOf(literalKinds[x.Kind])
	case *syntax.Interp:
		return kindOf(value.KindStr)
	case *syntax.List:
		return kindOf(value.KindList)
	case *syntax.Record:
		got := kindOf(value.KindRecord)
		for _, f := range x.Fields {
			got.keys = append(got.keys, f.Key)
		}
		return got
	case *syntax.Lambda:
		return kindOf(value.KindClosure)
	case *syntax.Spawn:
		return kindOf(value.KindTask)
	case *syntax.Paren:
		return c.kindOfExpr(x.X, steps-1)
	case *syntax.Binary:
		return c.kindOfBinary(x, steps)
	case *syntax.Name:
		return c.kindOfName(x.Name, steps)
	case *syntax.Field:
		return c.kindOfField(x, steps)
	case *syntax.Index:
		return c.kindOfIndex(x, steps)
	case *syntax.Method:
		return c.kindOfMethod(x, steps)
	case *syntax.Call:
		if n, ok := x.Fn.(*syntax.Name); ok {
			return result(functionKinds, n.Name)
		}
	case *syntax.Command:
		return c.kindOfCommand(x)
	}
	return inferred{}
}

func (c *completer) kindOfBinary(x *syntax.Binary, steps int) inferred {
	switch x.Op {
	case "..", "..=":
		return kindOf(value.KindRange)
	case "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||":
		return kindOf(value.KindBool)
	case "+":
		l, r := c.kindOfExpr(x.L, steps-1), c.kindOfExpr(x.R, steps-1)
		if l.known && r.known && l.kind == r.kind {
			return kindOf(l.kind)
		}
	}
	return inferred{}
}

// kindOfName looks at the source before the cursor, whose declarations win, and
// then at the session.
func (c *completer) kindOfName(name string, steps int) inferred {
	if x := c.declaredAs(name); x != nil {
		return c.kindOfExpr(x, steps-1)
	}
	if c.isDeclared(name) {
		return inferred{}
	}
	if v, kind, ok := c.state.Lookup(name); ok && kind != interp.BindAlias {
		return valueOf(v)
	}
	return inferred{}
}

// declaredAs is the value that the newest top-level declaration of a name in
// the complete lines before the cursor gives it, or nil.
func (c *completer) declaredAs(name string) (x syntax.Expr) {
	end := strings.LastIndexAny(c.src[:c.start], "\n;")
	if end < 0 {
		return nil
	}
	if c.before == nil {
		if c.before, _ = syntax.Parse(c.src[:end], c.state.Names()); c.before == nil {
			c.before = &syntax.Program{}
		}
	}
	for _, s := range c.before.Stmts {
		if let, ok := s.(*syntax.Let); ok && let.Name == name {
			x = let.Value
		}
	}
	return x
}

func (c *completer) kindOfField(x *syntax.Field, steps int) inferred {
	on := c.kindOfExpr(x.X, steps-1)
	switch {
	case on.has && on.kind == value.KindRecord:
		r := on.v.AsRecord()
		if i := slices.Index(r.Shape.Keys(), x.Name); i >= 0 {
			return valueOf(r.Vals[i])
		}
	case on.known && on.kind != value.KindRecord:
		return memberOf(on, x.Name)
	}
	return inferred{}
}

func (c *completer) kindOfIndex(x *syntax.Index, steps int) inferred {
	on := c.kindOfExpr(x.X, steps-1)
	i, ok := x.I.(*syntax.Literal)
	if !ok || !on.has {
		return inferred{}
	}
	switch {
	case on.kind == value.KindList && i.Kind == syntax.LitInt:
		if items := on.v.AsList(); i.Int >= 0 && i.Int < int64(len(items.Items)) {
			return valueOf(items.Items[i.Int])
		}
	case on.kind == value.KindRecord && i.Kind == syntax.LitStr:
		r := on.v.AsRecord()
		if n := slices.Index(r.Shape.Keys(), i.Str); n >= 0 {
			return valueOf(r.Vals[n])
		}
	}
	return inferred{}
}

// kindOfMethod uses the receiver's kind: what a method gives may depend on it.
func (c *completer) kindOfMethod(x *syntax.Method, steps int) inferred {
	if n, ok := x.X.(*syntax.Name); ok {
		if got := result(functionKinds, n.Name+"."+x.Name); got.known {
			return got
		}
	}
	return memberOf(c.kindOfExpr(x.X, steps-1), x.Name)
}

// memberOf is what a field or method of a value gives.
func memberOf(on inferred, name string) inferred {
	if !on.known {
		return result(memberKinds, name)
	}
	kinds, special := kindsOn[on.kind]
	if got := result(kinds, name); got.known || special && on.kind != value.KindStr {
		return got
	}
	return result(memberKinds, name)
}

// kindOfCommand tells programs and heads with an outcome from the others.
func (c *completer) kindOfCommand(x *syntax.Command) inferred {
	name := x.Head.Text
	if _, _, bound := c.state.Lookup(name); bound && !x.Force {
		return inferred{}
	}
	if head := builtin.Library().Head(name); head != nil && !x.Force && !head.Structured {
		return inferred{}
	}
	return kindOf(value.KindOutcome)
}

func result(kinds map[string]value.Kind, name string) inferred {
	k, ok := kinds[name]
	return inferred{known: ok, kind: k}
}

// What members and functions give: kindsOn where the receiver's kind decides,
// memberKinds otherwise. TestInferredKinds holds them against what comes out.
var (
	memberKinds = map[string]value.Kind{
		"len": value.KindInt, "count": value.KindInt, "is_empty": value.KindBool, "contains": value.KindBool,
		"all": value.KindBool, "any": value.KindBool, "map": value.KindList, "filter": value.KindList,
		"where": value.KindList, "sort": value.KindList, "sort_by": value.KindList, "uniq": value.KindList,
		"enumerate": value.KindList, "chunks": value.KindList, "flatten": value.KindList, "collect": value.KindList,
		"keys": value.KindList, "values": value.KindList, "items": value.KindList, "join": value.KindStr,
		"stream": value.KindStream, "json": value.KindStr, "str": value.KindStr, "ago": value.KindDatetime,
		"from_now": value.KindDatetime, "year": value.KindInt, "ok": value.KindBool,
	}
	kindsOn = map[value.Kind]map[string]value.Kind{
		value.KindStr: {
			"lines": value.KindList, "chars": value.KindList, "words": value.KindList, "split": value.KindList,
			"upper": value.KindStr, "lower": value.KindStr, "trim": value.KindStr, "replace": value.KindStr,
			"reverse": value.KindStr, "take": value.KindStr, "skip": value.KindStr, "starts_with": value.KindBool,
			"ends_with": value.KindBool, "parse_int": value.KindInt, "parse_float": value.KindFloat,
			"matches": value.KindList,
		},
		value.KindPath: {
			"name": value.KindStr, "stem": value.KindStr, "parent": value.KindPath, "join": value.KindPath,
			"abs": value.KindPath, "exists": value.KindBool, "is_dir": value.KindBool, "is_file": value.KindBool,
			"read": value.KindStr, "lines": value.KindList, "size": value.KindSize, "modified": value.KindDatetime,
		},
		value.KindStream: {
			"map": value.KindStream, "filter": value.KindStream, "where": value.KindStream,
			"skip": value.KindStream, "take": value.KindStream, "collect": value.KindList,
		},
		value.KindTable:   {"len": value.KindInt, "count": value.KindInt, "is_empty": value.KindBool},
		value.KindOutcome: {"ok": value.KindBool},
	}
	functionKinds = map[string]value.Kind{
		"path": value.KindPath, "glob": value.KindGlob, "regex": value.KindRegex, "range": value.KindRange,
		"now": value.KindDatetime, "channel": value.KindRecord, "every": value.KindStream,
		"json.stringify": value.KindStr, "csv.parse": value.KindTable, "csv.stringify": value.KindStr,
		"math.sqrt": value.KindFloat, "os.cpus": value.KindInt, "os.hostname": value.KindStr,
	}
)
