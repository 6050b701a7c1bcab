package value

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Inline is v on one line, as results of programs and nested values show. Text
// over MaxText is cut.
func Inline(v Value) string { return string(AppendInline(nil, v)) }

// AppendInline is Inline appended to dst.
func AppendInline(dst []byte, v Value) []byte {
	r := inliner{dst: dst, limit: len(dst) + MaxText}
	r.value(v, 0)
	return r.dst
}

// AppendInlineLimit appends at least limit bytes of v's inline text, if it has
// so many, and little more: it stops early, whatever the size of v. cut tells
// that it did.
func AppendInlineLimit(dst []byte, v Value, limit int) (out []byte, cut bool) {
	r := inliner{dst: dst, limit: len(dst) + limit}
	r.value(v, 0)
	return r.dst, r.cut
}

// inliner appends inline text until limit is reached.
type inliner struct {
	dst   []byte
	limit int
	cut   bool
}

// full reports, and remembers, that nothing more is wanted.
func (r *inliner) full() bool {
	if len(r.dst) >= r.limit {
		r.cut = true
	}
	return r.cut
}

func (r *inliner) add(s string) { r.dst = ExtendText(r.dst, s) }

func (r *inliner) value(v Value, depth int) {
	switch v.Kind() {
	case KindNull:
		r.add("null")
	case KindBool:
		r.dst = strconv.AppendBool(r.dst, v.AsBool())
	case KindInt:
		r.dst = strconv.AppendInt(r.dst, v.AsInt(), 10)
	case KindFloat:
		r.dst = appendFloat(r.dst, v.AsFloat())
	case KindStr:
		r.quoted(v.AsStr())
	case KindPath:
		r.path(v.AsStr())
	case KindGlob:
		r.add(v.AsGlob().Pattern)
	case KindRegex:
		r.add(`re"` + v.AsRegex().Src + `"`)
	case KindSize:
		r.add(FormatSize(v.AsSize()))
	case KindDuration:
		r.dst = appendDuration(r.dst, v.AsDuration())
	case KindDatetime:
		r.add(FormatDatetime(v.AsDatetime()))
	case KindTime:
		r.add(FormatTime(v.AsTimeOfDay()))
	case KindBytes:
		b := v.AsBytes()
		r.add("bytes(" + FormatSize(uint64(b.Len())) + ")")
		if ref := b.Ref(); ref != "" {
			r.add(" " + ref)
		}
	case KindRange:
		r.rng(v.AsRange())
	case KindList, KindTable, KindRecord:
		if depth >= MaxDepth {
			r.add("…")
			return
		}
		r.container(v, depth)
	default:
		r.add(inlineOther(v))
	}
}

func (r *inliner) container(v Value, depth int) {
	switch v.Kind() {
	case KindList:
		r.add("[")
		for i, item := range v.AsList().Items {
			if r.full() {
				return
			}
			r.comma(i)
			r.value(item, depth+1)
		}
		r.add("]")
	case KindTable:
		r.add("[")
		i := 0
		for row := range v.AsTable().Borrowed() {
			if r.full() {
				return
			}
			r.comma(i)
			r.value(row.Value(), depth+1)
			i++
		}
		r.add("]")
	case KindRecord:
		rec := v.AsRecord()
		r.add("{")
		for i, k := range rec.Shape.keys {
			if r.full() {
				return
			}
			r.comma(i)
			if IsIdent(k) {
				r.add(k)
			} else {
				r.quoted(k)
			}
			r.add(": ")
			r.value(rec.Vals[i], depth+1)
		}
		r.add("}")
	}
}

func (r *inliner) comma(i int) {
	if i > 0 {
		r.add(", ")
	}
}

// quoted appends s in quotes, escaping only what would end or break the line.
func (r *inliner) quoted(s string) {
	if len(s) > r.limit-len(r.dst) {
		s = s[:max(0, r.limit-len(r.dst))]
		r.cut = true
	}
	r.add(`"`)
	from := 0
	for i := range len(s) {
		var esc string
		switch s[i] {
		case '"':
			esc = `\"`
		case '\\':
			esc = `\\`
		case '\n':
			esc = `\n`
		case '\t':
			esc = `\t`
		case '\r':
			esc = `\r`
		case 0:
			esc = `\0`
		default:
			continue
		}
		r.add(s[from:i])
		r.add(esc)
		from = i + 1
	}
	r.add(s[from:])
	r.add(`"`)
}

func (r *inliner) path(p string) {
	p = LossyText(p)
	if strings.ContainsRune(p, ' ') {
		r.add(`"` + p + `"`)
		return
	}
	r.add(p)
}

// LossyText is s with each wrong byte replaced by U+FFFD.
func LossyText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return validText(s)
}

func (r *inliner) rng(g *Range) {
	r.dst = strconv.AppendInt(r.dst, g.Start, 10)
	if g.Inclusive {
		r.add("..=")
	} else {
		r.add("..")
	}
	r.dst = strconv.AppendInt(r.dst, g.End, 10)
}

// inlineOther is the inline text of what has identity rather than content.
func inlineOther(v Value) string {
	switch v.Kind() {
	case KindStream:
		return "stream<" + v.AsStream().Label + ">"
	case KindError:
		e := v.AsError()
		return "error(" + e.Code + ": " + e.Msg + ")"
	case KindOutcome:
		return inlineOutcome(v.AsOutcome())
	case KindTask:
		return "task(" + strings.TrimPrefix(v.AsTask().ID, "task:") + ")"
	case KindClosure:
		return v.AsClosure().Sig
	case KindCommand:
		return "command(" + v.AsCommand().Head + ")"
	case KindSecret:
		return v.AsSecret().String()
	}
	return ""
}

func inlineOutcome(o *Outcome) string {
	ok := strconv.FormatBool(o.OK)
	switch {
	case o.Signal != "":
		return "outcome(signal: " + o.Signal + ", ok: " + ok + ")"
	case o.Status != nil:
		return "outcome(status: " + strconv.Itoa(*o.Status) + ", ok: " + ok + ")"
	}
	return "outcome(status: -1, ok: " + ok + ")"
}

// IsIdent reports whether s is an identifier and so needs no quotes as a key.
func IsIdent(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
