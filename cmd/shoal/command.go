package main

import (
	"fmt"
	"strings"
)

// command is one word that shoal understands.
type command struct {
	name string
	args string // for the usage line
	doc  string // one line for the overview
	more string // what --help adds; may be empty
	run  func(a *app, args []string) int
}

// commands is the table that help and dispatch read, in the order of the help.
func commands() []command {
	return []command{
		runCommand(), formatCommand(), helpCommand(), kernelCommand(), eventsCommand(), historyCommand(), ptyCommand(), tokenCommand(), mcpCommand(),
	}
}

func findCommand(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

const globalHelp = `flags of every command:
  --session NAME     session to attach to (SHOAL_SESSION, "default")
  --state-dir DIR    state directory of the kernel (SHOAL_STATE_DIR)
  --socket PATH      socket of the kernel (SHOAL_SOCKET)
  --token-file PATH  file with the bearer token (SHOAL_TOKEN holds one itself)
  --version          print the version
  --help             print help, also after a command
`

func (a *app) overview() string {
	var b strings.Builder
	b.WriteString("usage: shoal [FLAGS] COMMAND …\n" +
		"       shoal [--session NAME] FILE.shl ARG…   run a script, here or in a session\n" +
		"       shoal [--session NAME] -c SRC          run a source; without arguments, stdin\n\ncommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-9s %s\n", c.name, c.doc)
	}
	return b.String() + "\n" + globalHelp
}

func (c command) help() string {
	text := fmt.Sprintf("usage: shoal %s %s\n\n%s.\n", c.name, c.args, strings.ToUpper(c.doc[:1])+c.doc[1:])
	if c.more != "" {
		text += "\n" + c.more
	}
	return text + "\n" + globalHelp
}
