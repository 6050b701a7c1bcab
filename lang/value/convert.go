package value

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// ConvertWord makes the value of a scalar type from a command word. A type
// name that has no conversion (str, glob, list, unknown ones) keeps the str;
// globs and "~/" need the session and are the caller's.
func ConvertWord(word, typ string) (Value, *Error) {
	switch typ {
	case "int":
		if n, ok := ParseInt(word); ok {
			return Int(n), nil
		}
	case "float":
		if f, ok := ParseFloat(word); ok {
			return Float(f), nil
		}
	case "bool":
		if word == "true" || word == "false" {
			return Bool(word == "true"), nil
		}
	case "size":
		if n, err := ParseSize(word); err == nil {
			return Size(n), nil
		}
	case "duration":
		if d, err := ParseDuration(word); err == nil {
			return Duration(d), nil
		}
	case "time":
		if ns, err := ParseTime(word); err == nil {
			return TimeOfDay(ns), nil
		}
	case "datetime":
		if t, err := ParseDatetime(word); err == nil {
			return NewDatetime(t), nil
		}
	case "path":
		return Path(word), nil
	default:
		return Str(word), nil
	}
	return Null, Errorf(CodeArg, "expected %s, found %s", typ, Inline(Str(word)))
}

// EchoText is how echo and redirects show v: str and path raw, null empty,
// everything else inline.
func EchoText(v Value) string {
	switch v.Kind() {
	case KindStr, KindPath:
		return v.AsStr()
	case KindNull:
		return ""
	}
	return Inline(v)
}

// ArgvText is the text of a scalar as a program's argument; what has none is a
// type_error. Globs and sequences are spliced by the caller.
func ArgvText(v Value) (string, *Error) {
	switch v.Kind() {
	case KindStr, KindPath:
		return v.AsStr(), nil
	case KindInt, KindDuration:
		return strconv.FormatInt(v.n, 10), nil
	case KindSize:
		return strconv.FormatUint(v.AsSize(), 10), nil
	case KindFloat, KindBool:
		return Inline(v), nil
	case KindDatetime:
		return v.AsDatetime().Format(time.RFC3339Nano), nil
	case KindTime:
		return FormatTimeSeconds(v.AsTimeOfDay()), nil
	}
	return "", Errorf(CodeType, "%s cannot be passed as argv", v.Kind()).WithHint("%s", argvHint(v.Kind()))
}

// argvHint is how a value without argv text gets to a program.
func argvHint(k Kind) string {
	switch k {
	case KindList, KindTable, KindRange:
		return "`...(xs)` passes each item as an argument of its own; a method is called on the value: `xs.sum()`"
	case KindNull:
		return "a value is null: leave the argument away, or put another in its place with `x ?? \"\"`"
	case KindOutcome:
		return "use the command's value: `.out`"
	case KindSecret:
		return "programs get secrets by the environment: `with env: {TOKEN: s} { … }`"
	case KindRecord:
		return "pass a field of it, or its text: `r.json()`"
	case KindBytes:
		return "feed bytes to the program: `data.feed(cmd)`"
	}
	return "pass a str, path, number, bool, size, duration, datetime, time or glob"
}

// Text is what .str() gives: str, int, float, bool, and paths and bytes that
// are UTF-8. Other types raise type_error.
func Text(v Value) (string, *Error) {
	switch v.Kind() {
	case KindStr:
		return v.AsStr(), nil
	case KindInt, KindFloat, KindBool:
		return Inline(v), nil
	case KindPath, KindBytes:
		raw, err := rawText(v)
		if err != nil {
			return "", err
		}
		if !utf8.ValidString(raw) {
			return "", Errorf(CodeUTF8, "%s is not valid UTF-8", v.Kind()).
				WithHint("`.display()` shows it with replacement characters")
		}
		return raw, nil
	}
	return "", noText(v, "str")
}

// DisplayText is what .display() gives: as Text, lossy.
func DisplayText(v Value) (string, *Error) {
	switch v.Kind() {
	case KindPath, KindBytes:
		raw, err := rawText(v)
		if err != nil {
			return "", err
		}
		return Lossy([]byte(raw)), nil
	case KindStr, KindInt, KindFloat, KindBool:
		return Text(v)
	}
	return "", noText(v, "display")
}

func rawText(v Value) (string, *Error) {
	if v.Kind() == KindPath {
		return v.AsStr(), nil
	}
	all, err := v.AsBytes().All(0)
	if err != nil {
		return "", asError(err, CodeIO)
	}
	return string(all), nil
}

func noText(v Value, method string) *Error {
	return Errorf(CodeType, "%s has no .%s()", v.Kind(), method).
		WithHint("use string interpolation: \"{value}\"")
}
