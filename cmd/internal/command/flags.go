package command

import (
	"context"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Flags returns everything that users of the program write down, a line for each item: the flags and arguments of each command,
// their letters, the variables of the environment that set them, the values that they may have, their defaults, and what a
// command needs. Tests compare the lines with those of the last release.
func (p Program) Flags() ([]string, error) {
	parser, err := p.parser(context.Background(), p.cli(), Console{Out: io.Discard, Err: io.Discard})
	if err != nil {
		return nil, err
	}
	return linesOf(parser.Model.Node, p.Name), nil
}

func linesOf(n *kong.Node, command string) (lines []string) {
	needs := []string{command, "needs"}
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		name := command + " --" + f.Name
		if f.Short != 0 {
			lines = append(lines, name+" -"+string(f.Short))
		}
		for _, env := range f.Envs {
			lines = append(lines, name+" $"+env)
		}
		lines = append(lines, linesOfValue(f.Value, name)...)
		if f.Required {
			needs = append(needs, "--"+f.Name)
		}
	}
	for _, a := range n.Positional {
		lines = append(lines, linesOfValue(a, command+" <"+a.Name+">")...)
		if a.Required {
			needs = append(needs, "<"+a.Name+">")
		}
	}
	for _, child := range n.Children {
		if !child.Hidden {
			lines = append(lines, linesOf(child, command+" "+child.Name)...)
		}
	}
	return append(lines, strings.Join(needs, " "))
}

func linesOfValue(v *kong.Value, name string) []string {
	kind := " value"
	switch {
	case v.IsBool():
		kind = " switch"
	case v.IsSlice() || v.IsMap():
		kind = " values"
	}
	lines := []string{name + kind}
	if v.Enum != "" {
		for of := range strings.SplitSeq(v.Enum, ",") {
			lines = append(lines, name+"="+strings.TrimSpace(of))
		}
	}
	if v.HasDefault {
		lines = append(lines, name+" is "+strings.ReplaceAll(v.Default, "\n", " "))
	}
	return lines
}
