package host

import "time"

// Clock is the system's clock.
type Clock struct{}

// Now is the present instant in the local zone.
func (Clock) Now() time.Time { return time.Now() }
