package value

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// sizeUnits are the factors of size units, in bytes.
var sizeUnits = map[string]uint64{
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// FormatSize is n with the largest decimal unit that is not above it and at
// most two decimals.
func FormatSize(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10) + "b"
	}
	units := [...]string{"kb", "mb", "gb", "tb"}
	scale := uint64(1000)
	for i, unit := range units {
		last := i == len(units)-1
		if n/scale >= 1000 && !last {
			scale *= 1000
			continue
		}
		text := strconv.FormatFloat(float64(n)/float64(scale), 'f', 2, 64)
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		if text == "1000" && !last {
			return "1" + units[i+1]
		}
		return text + unit
	}
	return ""
}

// ParseSize reads a number and a unit, such as 1.5kib.
func ParseSize(s string) (uint64, error) {
	number, unit := splitQuantity(s)
	factor, ok := sizeUnits[unit]
	if !ok || number == "" {
		return 0, fmt.Errorf("not a size")
	}
	if allDigits(number) {
		n, err := strconv.ParseUint(number, 10, 64)
		hi, lo := bits.Mul64(n, factor)
		if err != nil || hi != 0 {
			return 0, fmt.Errorf("size out of range")
		}
		return lo, nil
	}
	f, ok := ParseFloat(number)
	f = math.Round(f * float64(factor))
	if !ok || f < 0 || f >= 1<<64 {
		return 0, fmt.Errorf("size out of range")
	}
	return uint64(f), nil
}

// splitQuantity cuts s after its digits and dot.
func splitQuantity(s string) (number, rest string) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	return s[:i], s[i:]
}
