package syntax

import "reflect"

// Equal reports whether two trees are the same but for their places in the
// source.
func Equal(a, b Node) bool {
	return equal(reflect.ValueOf(a), reflect.ValueOf(b))
}

var spanType = reflect.TypeFor[Span]()

func equal(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equal(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		return equalStruct(a, b)
	}
	return a.Interface() == b.Interface()
}

func equalStruct(a, b reflect.Value) bool {
	if a.Type() == spanType {
		return true
	}
	program := a.Type() == reflect.TypeFor[Program]()
	for i := range a.NumField() {
		if program && a.Type().Field(i).Name != "Stmts" {
			continue
		}
		if !equal(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}
