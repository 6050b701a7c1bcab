package wire

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"shoal.dev/shoal/messages"
)

// Decode reads the params of a call into a struct, strictly: exactly the names
// of the JSON tags (case counts), every property at most once, no null, the
// types as declared, integers exact, every field tagged `wire:"required"`
// present. Absent params are {}. The refusal names the property and what was
// expected. Fields of type json.RawMessage take any value.
func Decode(params json.RawMessage, into any) *messages.Error {
	if len(bytes.TrimSpace(params)) == 0 || string(params) == "null" {
		params = json.RawMessage(`{}`)
	}
	if !json.Valid(params) {
		return messages.Errorf(messages.CodeInvalidParams, "params: expected one JSON object")
	}
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return messages.Errorf(messages.CodeInternal, "decode params: no struct to decode into")
	}
	if err := decodeStruct(params, v.Elem(), ""); err != nil {
		return &messages.Error{Code: messages.CodeInvalidParams, Message: err.Error()}
	}
	return nil
}

// field is one property that a struct takes.
type field struct {
	name     string
	required bool
	value    reflect.Value
	seen     bool
}

func decodeStruct(raw []byte, v reflect.Value, path string) error {
	raw = bytes.TrimSpace(raw)
	if raw[0] != '{' {
		return expected(orParams(path), "an object", raw)
	}
	fields := fieldsOf(v)
	var failed error
	eachMember(raw, func(key, value []byte) bool {
		failed = decodeMember(fields, string(key), value, path)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	for _, f := range fields {
		if f.required && !f.seen {
			return fmt.Errorf("%s: required property is missing (%s)", join(path, f.name), describe(f.value.Type()))
		}
	}
	return nil
}

func decodeMember(fields []field, key string, value []byte, path string) error {
	for i := range fields {
		f := &fields[i]
		if f.name != key {
			continue
		}
		if f.seen {
			return fmt.Errorf("%s: property is given twice", join(path, key))
		}
		f.seen = true
		return decodeValue(value, f.value, join(path, key))
	}
	return fmt.Errorf("%s: unknown property (known: %s)", join(path, clip([]byte(key))), names(fields))
}

// fieldsOf lists the properties of a struct; embedded structs are flattened.
func fieldsOf(v reflect.Value) []field {
	layout := layoutOf(v.Type())
	list := make([]field, len(layout))
	for i, l := range layout {
		list[i] = field{name: l.name, required: l.required, value: v.FieldByIndex(l.index)}
	}
	return list
}

// place is where a struct keeps a property.
type place struct {
	name     string
	required bool
	index    []int
}

// layouts remembers the places of types, which never change: reflect.Type to
// []place.
var layouts sync.Map

func layoutOf(t reflect.Type) []place {
	if known, ok := layouts.Load(t); ok {
		return known.([]place)
	}
	layout := appendPlaces(nil, t, nil)
	layouts.Store(t, layout)
	return layout
}

// appendPlaces appends the properties of a struct that lies at that index.
func appendPlaces(list []place, t reflect.Type, at []int) []place {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(slices.Clone(at), i)
		tag, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case sf.Anonymous && tag == "" && sf.Type.Kind() == reflect.Struct:
			list = appendPlaces(list, sf.Type, index)
		case !sf.IsExported() || tag == "-":
		default:
			list = append(list, place{cmp.Or(tag, sf.Name), sf.Tag.Get("wire") == "required", index})
		}
	}
	return list
}

func decodeValue(raw []byte, v reflect.Value, path string) error {
	t := v.Type()
	if t == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes(bytes.Clone(raw))
		return nil
	}
	if string(raw) == "null" {
		return expected(path, describe(t), raw)
	}
	if custom(t) {
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		if err := decodeValue(raw, p.Elem(), path); err != nil {
			return err
		}
		v.Set(p)
	case reflect.Struct:
		return decodeStruct(raw, v, path)
	case reflect.Slice:
		return decodeSlice(raw, v, path)
	case reflect.Array:
		return decodeArray(raw, v, path)
	case reflect.Map:
		return decodeMap(raw, v, path)
	default:
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			return expected(path, describe(t), raw)
		}
	}
	return nil
}

func decodeSlice(raw []byte, v reflect.Value, path string) error {
	if isBytes(v.Type()) { // base64, as encoding/json has it
		if raw[0] != '"' || json.Unmarshal(raw, v.Addr().Interface()) != nil {
			return expected(path, describe(v.Type()), raw)
		}
		return nil
	}
	items, err := elements(raw, v.Type(), path)
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := decodeValue(item, list.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func decodeArray(raw []byte, v reflect.Value, path string) error {
	items, err := elements(raw, v.Type(), path)
	if err != nil {
		return err
	}
	if len(items) != v.Len() {
		return fmt.Errorf("%s: expected %s, got %d items", path, describe(v.Type()), len(items))
	}
	for i, item := range items {
		if err := decodeValue(item, v.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

func elements(raw []byte, t reflect.Type, path string) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, expected(path, describe(t), raw)
	}
	return items, nil
}

func decodeMap(raw []byte, v reflect.Value, path string) error {
	if raw[0] != '{' || v.Type().Key().Kind() != reflect.String {
		return expected(path, describe(v.Type()), raw)
	}
	m := reflect.MakeMap(v.Type())
	var failed error
	eachMember(raw, func(key, value []byte) bool {
		k := reflect.New(v.Type().Key()).Elem()
		k.SetString(string(key))
		if m.MapIndex(k).IsValid() {
			failed = fmt.Errorf("%s: property is given twice", join(path, string(key)))
			return false
		}
		item := reflect.New(v.Type().Elem()).Elem()
		failed = decodeValue(value, item, join(path, string(key)))
		m.SetMapIndex(k, item)
		return failed == nil
	})
	v.Set(m)
	return failed
}

// custom reports whether a type reads JSON by its own rules.
func custom(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isBytes tells plain bytes from a list of things that are as small.
func isBytes(t reflect.Type) bool {
	return t.Elem().Kind() == reflect.Uint8 && !custom(t.Elem())
}

// describe says in words what a type takes.
func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem())
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return "a number"
		}
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer of " + strconv.Itoa(t.Bits()) + " bits"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a non-negative integer of " + strconv.Itoa(t.Bits()) + " bits"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		if isBytes(t) {
			return "a base64 string"
		}
		return "an array"
	case reflect.Array:
		return "an array of " + strconv.Itoa(t.Len()) + " items"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a JSON value"
	}
}

func expected(path, what string, got []byte) error {
	return fmt.Errorf("%s: expected %s, got %s", path, what, clip(got))
}

func names(fields []field) string {
	if len(fields) == 0 {
		return "none"
	}
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return strings.Join(list, ", ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func orParams(path string) string {
	if path == "" {
		return "params"
	}
	return path
}
