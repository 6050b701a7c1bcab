package value

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FormatDatetime is the instant in UTC as RFC 3339, with a fraction only when
// there is one.
func FormatDatetime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.999999999Z")
}

// ZonedDatetime is the instant with offset and zone as RFC 9557.
func ZonedDatetime(t time.Time) string {
	offset := t.Format("-07:00")
	zone := t.Location().String()
	if zone == "" || zone == "Local" {
		zone = offset
		if offset == "+00:00" {
			zone = "UTC"
		}
	}
	return t.Format("2006-01-02T15:04:05.999999999") + offset + "[" + zone + "]"
}

// FormatTime is HH:MM, or HH:MM:SS when there are seconds.
func FormatTime(ns int64) string {
	s := ns / int64(time.Second)
	if s%60 == 0 {
		return fmt.Sprintf("%02d:%02d", s/3600, s/60%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// FormatTimeSeconds is HH:MM:SS, with a fraction when there is one.
func FormatTimeSeconds(ns int64) string {
	s := ns / int64(time.Second)
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
	if frac := ns % int64(time.Second); frac != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%09d", frac), "0")
	}
	return text
}

// ParseTime reads H:MM or H:MM:SS with an optional am or pm, and gives
// nanoseconds since midnight.
func ParseTime(s string) (int64, error) {
	bad := fmt.Errorf("not a time")
	body, half := s, ""
	if n := len(s) - 2; n > 0 {
		if suffix := strings.ToLower(s[n:]); suffix == "am" || suffix == "pm" {
			body, half = s[:n], suffix
		}
	}
	parts := strings.Split(body, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, bad
	}
	var n [3]int64
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 10, 8)
		if err != nil || len(part) > 2 || i > 0 && (len(part) != 2 || v > 59) {
			return 0, bad
		}
		n[i] = int64(v)
	}
	switch {
	case half == "" && n[0] > 23, half != "" && (n[0] < 1 || n[0] > 12):
		return 0, bad
	case half == "am":
		n[0] %= 12
	case half == "pm":
		n[0] = n[0]%12 + 12
	}
	return (n[0]*3600 + n[1]*60 + n[2]) * int64(time.Second), nil
}

// ParseDatetime reads RFC 3339 (seconds optional; the instant, then UTC), RFC
// 9557 (the zone in brackets is kept) or a date alone (midnight UTC).
func ParseDatetime(s string) (time.Time, error) {
	body, zone, err := splitZone(s)
	if err != nil {
		return time.Time{}, err
	}
	in := time.UTC
	if zone != "" {
		if in, err = loadZone(zone); err != nil {
			return time.Time{}, err
		}
	}
	if t, err := time.ParseInLocation("2006-01-02", body, in); err == nil {
		return t, nil
	}
	if len(body) > 10 && (body[10] == 't' || body[10] == ' ') {
		body = body[:10] + "T" + body[11:]
	}
	if n := len(body) - 1; n > 0 && body[n] == 'z' {
		body = body[:n] + "Z"
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, body); err == nil && !strings.Contains(body, ",") {
			return t.In(in), nil
		}
	}
	if zone != "" {
		for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
			if t, err := time.ParseInLocation(layout, body, in); err == nil && !strings.Contains(body, ",") {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("not a datetime (use YYYY-MM-DD, or YYYY-MM-DDTHH:MM[:SS] with Z or an offset)")
}

// splitZone cuts the bracketed suffixes off and gives the zone among them.
func splitZone(s string) (body, zone string, err error) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return s, "", nil
	}
	for rest := s[open:]; rest != ""; {
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			return "", "", fmt.Errorf("not a datetime: bad zone suffix")
		}
		part := rest[1:end]
		name := strings.TrimPrefix(part, "!")
		switch {
		case !strings.Contains(name, "="):
			if zone != "" || name == "" {
				return "", "", fmt.Errorf("not a datetime: bad zone suffix")
			}
			zone = name
		case part != name:
			return "", "", fmt.Errorf("not a datetime: unknown critical suffix %q", name)
		}
		rest = rest[end+1:]
	}
	return s[:open], zone, nil
}

func loadZone(name string) (*time.Location, error) {
	if name[0] == '+' || name[0] == '-' {
		t, err := time.Parse("-07:00", name)
		if err != nil {
			return nil, fmt.Errorf("not a datetime: bad zone %q", name)
		}
		_, offset := t.Zone()
		return time.FixedZone(name, offset), nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return loc, nil
}
