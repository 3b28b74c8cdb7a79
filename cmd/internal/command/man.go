package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Run prints the man page. It is generated from the same declarations as the help.
func (manCmd) Run(con Console, app *kong.Kong) error {
	var b strings.Builder
	writeMan(&b, app.Model)
	_, err := io.WriteString(con.Out, b.String())
	return err
}

// writeMan writes the man page in the format of man(7).
func writeMan(b *strings.Builder, app *kong.Application) {
	fmt.Fprintf(b, ".TH %s 1 \"\" \"%s %s\" \"User Commands\"\n", roff(strings.ToUpper(app.Name)), roff(app.Name), roff(Version()))
	fmt.Fprintf(b, ".SH NAME\n%s \\- decodes game replays and streams what happened in them\n", roff(app.Name))
	b.WriteString(".nh\n.ad l\n.SH SYNOPSIS\n") // names and paths stay in one piece, so that they can be copied
	commands := app.Leaves(true)
	for _, c := range commands {
		fmt.Fprintf(b, ".B %s\n.br\n", roff(app.Name+" "+c.Summary()))
	}
	fmt.Fprintf(b, ".SH DESCRIPTION\n%s\n", paragraph(app.Help))
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(b, ".SS %s\n%s\n", roff(c.FullPath()), paragraph(c.Help))
		for _, arg := range c.Positional {
			fmt.Fprintf(b, ".TP\n\\fI%s\\fR\n%s\n", roff(arg.Summary()), paragraph(arg.Help))
		}
		for _, flag := range c.Flags {
			if flag.Hidden {
				continue
			}
			fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(flagText(flag)), paragraph(flag.Help))
			if len(flag.Envs) > 0 {
				fmt.Fprintf(b, "Environment: \\fB%s\\fR.\n", roff(strings.Join(flag.Envs, ", ")))
			}
		}
	}
	b.WriteString(`.SH EXIT STATUS
.TP
.B 0
Success.
.TP
.B 1
Any other error.
.TP
.B 2
The command line or the request is invalid.
.TP
.B 3
No such replay.
.TP
.B 4
The replay is damaged, or its format is not supported.
.TP
.B 5
The replay is truncated.
.TP
.B 6
The daemon is unreachable, is shutting down or is overloaded. Retrying may help.
.TP
.B 130
Interrupted.
.SH FILES
.TP
.I /etc/replayd/replayd.conf
The flags of the system service, as installed by the packages.
`)
}

// flagText returns a flag with its short form and the placeholder of its value.
func flagText(f *kong.Flag) string {
	text := "--" + f.Name
	if f.Short != 0 {
		text = "-" + string(f.Short) + ", " + text
	}
	if f.IsBool() {
		return text
	}
	return text + "=" + f.FormatPlaceHolder()
}

// paragraph returns s on one line, escaped. An empty text becomes an empty paragraph.
func paragraph(s string) string {
	s = roff(strings.Join(strings.Fields(s), " "))
	if s == "" {
		return `\&`
	}
	return s
}

// roff escapes a text so that it is printed verbatim. In roff, a backslash begins an escape sequence and a line may be broken at
// a hyphen. A dot or an apostrophe at the beginning of a line makes the line a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
