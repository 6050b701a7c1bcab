package main

import (
	"io"

	"shoal.dev/shoal/lang/builtin"
)

func helpCommand() command {
	return command{
		name: "help", args: "[NAME]", doc: "explain a command of shoal or a builtin of the language",
		more: "NAME is a command, a head such as ls, a call such as range, a method such as\nwhere, or a namespace or its member such as json.parse.\n",
		run:  showHelp,
	}
}

func showHelp(a *app, args []string) int {
	c := helpCommand()
	args, code, done := a.parse(c, a.flagSet(c.name), args)
	switch {
	case done:
		return code
	case len(args) == 0:
		io.WriteString(a.stdout, a.overview())
		return exitOK
	case len(args) > 1:
		return a.usageError("help takes one name")
	}
	text, known := builtin.Help(args[0])
	if other, ok := findCommand(args[0]); ok {
		io.WriteString(a.stdout, other.help())
		if !known {
			return exitOK
		}
		io.WriteString(a.stdout, "\nIn the language:\n\n")
	} else if !known {
		a.complain("nothing is named "+args[0], "docs/builtins.md lists all builtins")
		return exitFailed
	}
	a.printText(text)
	return exitOK
}
