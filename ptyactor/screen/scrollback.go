package screen

// Limits of a scrollback.
const (
	DefaultScrollback = 1000
	maxScrollback     = 100_000
	scrollbackBytes   = 1 << 20
)

// scrollback keeps the newest lines that left the top of the main screen. Each
// has a number; next is that of the line to come. A line that comes back when the
// screen grows gives its number back too.
type scrollback struct {
	lines []string
	head  int // index of the oldest in lines
	next  int64
	bytes int
	limit int
}

func (s *scrollback) len() int { return len(s.lines) - s.head }

func (s *scrollback) push(line string) {
	s.next++
	if s.limit == 0 {
		return
	}
	s.lines = append(s.lines, line)
	s.bytes += len(line)
	for s.len() > s.limit || s.bytes > scrollbackBytes && s.len() > 1 {
		s.bytes -= len(s.lines[s.head])
		s.lines[s.head] = ""
		s.head++
	}
	if s.head > len(s.lines)/2 && s.head > 64 {
		s.lines = append(s.lines[:0:0], s.lines[s.head:]...)
		s.head = 0
	}
}

// skip counts lines that nobody will see.
func (s *scrollback) skip(n int) {
	s.clear()
	s.next += int64(n)
}

func (s *scrollback) clear() { s.lines, s.head, s.bytes = nil, 0, 0 }

// pop takes the newest line back onto the screen.
func (s *scrollback) pop() (string, bool) {
	if s.len() == 0 {
		return "", false
	}
	line := s.lines[len(s.lines)-1]
	s.lines = s.lines[:len(s.lines)-1]
	s.bytes -= len(line)
	s.next--
	return line, true
}

func (s *scrollback) read(from, to int64) (lines []string, first, next int64) {
	oldest := s.next - int64(s.len())
	from = min(max(from, oldest), s.next)
	to = min(max(to, from), s.next)
	at := s.head + int(from-oldest)
	return append([]string{}, s.lines[at:at+int(to-from)]...), from, s.next
}
