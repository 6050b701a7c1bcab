package value

import (
	"math"
	"strconv"
	"strings"
)

// FormatFloat is the shortest decimal that reads back as f, never with an
// exponent and without a trailing ".0".
func FormatFloat(f float64) string { return string(appendFloat(nil, f)) }

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// ParseInt reads an optional sign and decimal digits.
func ParseInt(s string) (int64, bool) {
	if len(s) > 0 && len(s) <= safeDigits && s[0] >= '0' {
		n := int64(0)
		for i := range len(s) {
			d := s[i] - '0'
			if d > 9 {
				return 0, false
			}
			n = 10*n + int64(d)
		}
		return n, true
	}
	if !allDigits(unsigned(s)) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// safeDigits is how many digits every int has room for.
const safeDigits = 18

// ParseFloat reads an optional sign and a decimal number, an exponent being
// allowed, or inf or nan.
func ParseFloat(s string) (float64, bool) {
	switch unsigned(s) {
	case "inf", "nan":
	default:
		if strings.Trim(s, "0123456789.eE+-") != "" {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// unsigned is s without a sign at its start.
func unsigned(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

// allDigits reports whether s is one decimal digit or more.
func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
