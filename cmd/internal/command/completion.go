package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints a script that makes a shell complete commands and flags. Load it with "source <(replayd completion bash)" in bash
// and zsh, and with "replayd completion fish | source" in fish.
func (c *completionCmd) Run(con Console, app *kong.Kong) error {
	var b strings.Builder
	if c.Shell == "fish" {
		writeFish(&b, app.Model)
	} else {
		writeBash(&b, app.Model, c.Shell == "zsh")
	}
	_, err := io.WriteString(con.Out, b.String())
	return err
}

// A completed is a command, or a group of commands, that a shell completes.
type completed struct {
	path     []string // the words after the name of the program; none for the program itself
	children []*kong.Node
	flags    []*kong.Flag
}

// completions returns the program, its groups and its commands, each before what is below it.
func completions(n *kong.Node, path []string) []completed {
	c := completed{path: path}
	for _, child := range n.Children {
		if !child.Hidden {
			c.children = append(c.children, child)
		}
	}
	for _, f := range n.Flags {
		if !f.Hidden {
			c.flags = append(c.flags, f)
		}
	}
	all := []completed{c}
	for _, child := range c.children {
		all = append(all, completions(child, append(slices.Clip(path), child.Name))...)
	}
	return all
}

// key is the path as a pattern of the script for bash, such as "/jobs/add".
func (c completed) key() string {
	return strings.Join(append([]string{""}, c.path...), "/")
}

// words returns the names of what is below a group, or the flags of a command.
func (c completed) words() string {
	var words []string
	for _, child := range c.children {
		words = append(words, child.Name)
	}
	for _, f := range c.flags {
		words = append(words, "--"+f.Name)
	}
	return strings.Join(words, " ")
}

// choices returns the values of a flag that takes one of a few, separated by spaces.
func choices(f *kong.Flag) string {
	return strings.Join(strings.FieldsFunc(f.Enum, func(r rune) bool { return r == ',' }), " ")
}

// writeBash writes a script for bash, which also works in zsh. The script first finds the command among the words before the
// cursor, then completes a value of the flag before the cursor, a command, a flag, or the name of a file.
func writeBash(b *strings.Builder, app *kong.Application, zsh bool) {
	if zsh {
		b.WriteString("autoload -U +X bashcompinit && bashcompinit\n")
	}
	all := completions(app.Node, nil)
	function := "_" + strings.ReplaceAll(app.Name, "-", "_")
	fmt.Fprintf(b, "%s() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= words= i\n  COMPREPLY=()\n"+
		"  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"$command/${COMP_WORDS[i]}\" in\n", function)
	for _, c := range all[1:] {
		fmt.Fprintf(b, "    %s) command='%s' ;;\n", c.key(), c.key())
	}
	b.WriteString("    esac\n  done\n  case \"$command $before\" in\n")
	for _, c := range all {
		for _, f := range c.flags {
			if f.Enum != "" {
				fmt.Fprintf(b, "  '%s --%s') words='%s' ;;\n", c.key(), f.Name, choices(f))
			}
		}
	}
	b.WriteString("  esac\n  if [[ -z $words ]]; then\n    case \"$command $word\" in\n")
	for _, c := range all {
		pattern := "'" + c.key() + " '-*"
		if len(c.children) > 0 {
			pattern = "'" + c.key() + " '*"
		}
		fmt.Fprintf(b, "    %s) words='%s' ;;\n", pattern, c.words())
	}
	fmt.Fprintf(b, "    esac\n  fi\n  if [[ -n $words ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n  else\n"+
		"    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -o filenames -F %s %s\n", function, app.Name)
}

func writeFish(b *strings.Builder, app *kong.Application) {
	quote := func(s string) string {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
	}
	for _, c := range completions(app.Node, nil) {
		when := "__fish_use_subcommand"
		if len(c.path) > 0 {
			when = "__fish_seen_subcommand_from " + strings.Join(c.path, "; and __fish_seen_subcommand_from ")
		}
		for _, child := range c.children {
			fmt.Fprintf(b, "complete -c %s -f -n '%s' -a %s -d %s\n", app.Name, when, child.Name, quote(child.Help))
		}
		for _, f := range c.flags {
			takes := " -r"
			switch {
			case f.IsBool():
				takes = ""
			case f.Enum != "":
				takes = " -x -a " + quote(choices(f))
			}
			fmt.Fprintf(b, "complete -c %s -n '%s' -l %s%s -d %s\n", app.Name, when, f.Name, takes, quote(f.Help))
		}
	}
}
