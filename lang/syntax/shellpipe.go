package syntax

import "strings"

// MaskedStage looks at the payload of a shell's block for a pipe whose earlier
// part may fail unseen, as the status is that of the last part. It names that
// part and the last one. Parts that only print, filter or list are passed over,
// and so are payloads that look at the status themselves.
func MaskedStage(shell, payload string) (stage, last string, found bool) {
	if interpreters[shell] != &shellLexis || !strings.Contains(payload, "|") {
		return "", "", false
	}
	for _, aware := range []string{"pipefail", "PIPESTATUS", "pipestatus"} {
		if strings.Contains(payload, aware) {
			return "", "", false
		}
	}
	for _, pipe := range shellPipes(payload) {
		for i, part := range pipe[:len(pipe)-1] {
			if i == 0 && isCondition(part) {
				break
			}
			if mayFail(part) {
				return strings.TrimSpace(part), shellHead(pipe[len(pipe)-1]), true
			}
		}
	}
	return "", "", false
}

// shellPipes are the pipelines of more than one part that do not lie in
// parentheses, braces, quotes or here-documents.
func shellPipes(payload string) (pipes [][]string) {
	m := matcher{src: "\n" + payload + "\n", lx: &shellLexis, pos: 1, stack: []context{inBraces}}
	var parts []string
	start, parens := 1, 0
	end := func(width int) {
		parts = append(parts, m.src[start:m.pos])
		m.pos += width - 1
		start = m.pos + 1
	}
	for m.pos < len(m.src) {
		top := m.stack[len(m.stack)-1]
		if top >= inSingle {
			m.text(top)
			continue
		}
		c, next := m.src[m.pos], m.src[min(m.pos+1, len(m.src)-1)]
		if len(m.stack) == 1 {
			switch {
			case c == '(':
				parens++
			case c == ')':
				parens = max(0, parens-1)
			case parens > 0, c == '\n' && len(parts) > 0 && strings.TrimSpace(m.src[start:m.pos]) == "": // goes on
			case c == '|' && next != '|' && m.src[m.pos-1] != '>':
				width := 1
				if next == '&' {
					width = 2
				}
				end(width)
			case c == ';', c == '\n', c == '|' && next == '|', c == '&' && (next == '&' || !isRedirect(m.src, m.pos)):
				width := 1
				if next == c && c != '\n' {
					width = 2
				}
				end(width)
				if len(parts) > 1 {
					pipes = append(pipes, parts)
				}
				parts = nil
			}
		}
		if _, done := m.code(top); done {
			m.stack = append(m.stack, inBraces) // a brace too many
		}
		if c == '\n' {
			start = max(start, m.pos) // past here-documents
		}
	}
	return pipes
}

// isRedirect reports whether the & at pos belongs to a redirect.
func isRedirect(src string, pos int) bool {
	return src[pos-1] == '>' || src[pos-1] == '<' || src[pos+1] == '>'
}

// isCondition reports whether a part begins the condition of a construct.
func isCondition(part string) bool {
	switch word, _ := shellWord(part); word {
	case "if", "elif", "while", "until", "!":
		return true
	}
	return false
}

// mayFail reports whether the status of a part means something. That of a group
// is the status of its last command, or of an exit in it.
func mayFail(part string) bool {
	head := shellHead(part)
	switch {
	case head == "":
		return false
	case head[0] == '(' || head == "{":
		inner := strings.Trim(strings.TrimSpace(part), "(){} \n;")
		for _, f := range strings.FieldsFunc(inner, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()", r) }) {
			if f == "exit" || f == "false" {
				return true
			}
		}
		return mayFail(inner[strings.LastIndexAny(inner, ";\n&|")+1:])
	}
	_, rest := shellWord(part)
	second, _ := shellWord(rest)
	return !quietTools[head] && !quietTools[head+" "+second]
}

// shellHead is the name of the command that a part runs, without assignments
// and the words that lead into a command.
func shellHead(part string) string {
	for {
		word, rest := shellWord(part)
		switch {
		case word == "then", word == "else", word == "do", word == "time", word == "exec", word == "command", word == "!":
		case isAssignment(word):
		default:
			if i := strings.LastIndexByte(word, '/'); i >= 0 && word[0] != '(' {
				word = word[i+1:]
			}
			return word
		}
		part = rest
	}
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && isName(name)
}

// shellWord is the first word of a text and what follows it.
func shellWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t\n\\")
	i := strings.IndexAny(s, " \t\n")
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// quietTools are the programs in front of a pipe whose status hardly ever
// matters. The ends of loops and cases are theirs to say.
var quietTools = setOf(`: [ [[ awk b2sum base64 basename bc cat column comm cut date df dirname du echo egrep env
	expand expr fgrep file find fold gawk grep head hexdump history hostname id jobs join ls lsof md5sum nl od
	paste pgrep printenv printf ps pwd read readlink realpath rev rg sed seq set sha1sum sha256sum shuf sleep sort
	ss stat strings tac tail tee tr tree true type uname uniq wc which who whoami xxd yes zcat
	done fi esac for case`,
	"git log", "git status", "git diff", "git show", "git branch", "git ls-files", "git blame", "git grep", "git tag")

func setOf(words string, more ...string) map[string]bool {
	set := map[string]bool{}
	for _, w := range append(strings.Fields(words), more...) {
		set[w] = true
	}
	return set
}
