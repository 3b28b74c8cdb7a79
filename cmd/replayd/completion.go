package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints a script that makes a shell complete commands and flags. Load it with "source <(replayd completion bash)" in bash
// and zsh, and with "replayd completion fish | source" in fish.
func (c *completionCmd) Run(con console, app *kong.Kong) error {
	var b strings.Builder
	if c.Shell == "fish" {
		writeFish(&b, app.Model)
	} else {
		writeBash(&b, app.Model, c.Shell == "zsh")
	}
	_, err := io.WriteString(con.out, b.String())
	return err
}

// flagsFor returns the flags of a command. words holds the values of each flag that takes one of a few, separated by spaces.
func flagsFor(c *kong.Node) (names []string, words map[string]string) {
	words = map[string]string{}
	for _, f := range c.Flags {
		if f.Hidden {
			continue
		}
		names = append(names, "--"+f.Name)
		if f.Enum != "" {
			words["--"+f.Name] = strings.ReplaceAll(f.Enum, ",", " ")
		}
	}
	return append(names, "--help"), words
}

// writeBash writes a script for bash, which also works in zsh.
func writeBash(b *strings.Builder, app *kong.Application, zsh bool) {
	if zsh {
		b.WriteString("autoload -U +X bashcompinit && bashcompinit\n")
	}
	b.WriteString("_replayd() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n  COMPREPLY=()\n")
	var commands []string
	for _, c := range app.Leaves(true) {
		commands = append(commands, c.Name)
	}
	fmt.Fprintf(b, "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '%s --help --version' -- \"$word\"))\n    return\n  fi\n",
		strings.Join(commands, " "))
	b.WriteString("  case \"${COMP_WORDS[1]} $before\" in\n")
	for _, c := range app.Leaves(true) {
		names, words := flagsFor(c)
		for _, name := range names {
			if words[name] != "" {
				fmt.Fprintf(b, "  '%s %s') words='%s' ;;\n", c.Name, name, words[name])
			}
		}
	}
	b.WriteString("  esac\n  if [[ -z $words && $word == -* ]]; then\n    case ${COMP_WORDS[1]} in\n")
	for _, c := range app.Leaves(true) {
		names, _ := flagsFor(c)
		fmt.Fprintf(b, "    %s) words='%s' ;;\n", c.Name, strings.Join(names, " "))
	}
	b.WriteString("    esac\n  fi\n  if [[ -n $words ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n  else\n" +
		"    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -o filenames -F _replayd replayd\n")
}

func writeFish(b *strings.Builder, app *kong.Application) {
	quote := func(s string) string {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
	}
	for _, c := range app.Leaves(true) {
		fmt.Fprintf(b, "complete -c replayd -n __fish_use_subcommand -a %s -d %s\n", c.Name, quote(c.Help))
		for _, f := range c.Flags {
			if f.Hidden {
				continue
			}
			takes := " -r"
			switch {
			case f.IsBool():
				takes = ""
			case f.Enum != "":
				takes = " -x -a " + quote(strings.ReplaceAll(f.Enum, ",", " "))
			}
			fmt.Fprintf(b, "complete -c replayd -n '__fish_seen_subcommand_from %s' -l %s%s -d %s\n", c.Name, f.Name, takes, quote(f.Help))
		}
	}
}
