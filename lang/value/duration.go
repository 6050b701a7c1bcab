package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// durationUnits are the duration units from the largest on.
var durationUnits = [...]struct {
	name string
	ns   uint64
}{
	{"w", 7 * 24 * uint64(time.Hour)},
	{"d", 24 * uint64(time.Hour)},
	{"h", uint64(time.Hour)},
	{"m", uint64(time.Minute)},
	{"s", uint64(time.Second)},
	{"ms", uint64(time.Millisecond)},
	{"us", uint64(time.Microsecond)},
	{"ns", 1},
}

// FormatDuration is the sign and every non-zero unit of w d h m s ms us ns.
func FormatDuration(d time.Duration) string { return string(appendDuration(nil, d)) }

func appendDuration(dst []byte, d time.Duration) []byte {
	if d == 0 {
		return append(dst, "0s"...)
	}
	n := uint64(d)
	if d < 0 {
		dst = append(dst, '-')
		n = -n
	}
	for _, u := range durationUnits {
		if k := n / u.ns; k > 0 {
			dst = strconv.AppendUint(dst, k, 10)
			dst = append(dst, u.name...)
			n %= u.ns
		}
	}
	return dst
}

// ParseDuration reads one or more numbers with units, such as 1h30m, with an
// optional sign; a bare number is seconds.
func ParseDuration(s string) (time.Duration, error) {
	body := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if len(s)-len(body) > 1 || body == "" {
		return 0, fmt.Errorf("not a duration")
	}
	neg := s[0] == '-'
	if number, rest := splitQuantity(body); rest == "" {
		body = number + "s"
	}
	var total float64
	var exact uint64
	for body != "" {
		number, rest := splitQuantity(body)
		i := 0
		for i < len(rest) && rest[i] >= 'a' && rest[i] <= 'z' {
			i++
		}
		ns, ok := unitNanos(rest[:i])
		f, fine := ParseFloat(number)
		if !ok || !fine {
			return 0, fmt.Errorf("not a duration")
		}
		f *= float64(ns)
		total += f
		if total >= 1<<63 {
			return 0, fmt.Errorf("duration out of range")
		}
		if n, err := strconv.ParseUint(number, 10, 64); err == nil {
			exact += n * ns
		} else {
			exact += uint64(math.Round(f))
		}
		body = rest[i:]
	}
	if exact > math.MaxInt64 {
		return 0, fmt.Errorf("duration out of range")
	}
	if neg {
		return -time.Duration(exact), nil
	}
	return time.Duration(exact), nil
}

func unitNanos(name string) (uint64, bool) {
	for _, u := range durationUnits {
		if u.name == name {
			return u.ns, true
		}
	}
	return 0, false
}
