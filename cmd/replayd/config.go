package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/replayd/replayd/service/access"
)

// configFile is a file of flags: a line "name = value" for each, as on the command line without the dashes. Flags that may be
// repeated have a line for each value. What is on the command line or in the environment comes first. Empty lines and those that
// begin with # do not count.
type configFile string

// BeforeResolve has kong ask the file for flags that are not given.
func (configFile) BeforeResolve(k *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	path, _ := ctx.FlagValue(trace.Flag).(configFile)
	if path == "" {
		return nil
	}
	c, err := readConfig(string(path), ctx.Selected(), k)
	if err != nil {
		return err
	}
	ctx.AddResolver(c)
	return nil
}

// config is what a file says.
type config struct {
	values map[string][]string // by flag
}

// configError says which line of a file is wrong.
type configError struct {
	file    string
	line    int
	problem string
}

func (e *configError) Error() string {
	return fmt.Sprintf("%s, line %d: %s", e.file, e.line, e.problem)
}

// readConfig reads a file for a command. It returns a *configError for a line that makes no sense.
func readConfig(path string, command *kong.Node, _ *kong.Kong) (*config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	flags := map[string]*kong.Flag{}
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			flags[f.Name] = f
		}
	}
	c := &config{values: map[string][]string{}}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		var problem string
		switch f := flags[key]; {
		case !ok:
			problem = "want NAME = VALUE"
		case f == nil || slices.Contains([]string{"config", "help", "version"}, key):
			problem = fmt.Sprintf("%s is no flag of %s", key, command.Name)
		case len(c.values[key]) > 0 && !f.IsSlice():
			problem = key + " stands here twice"
		default:
			problem = wrong(f, value)
		}
		if problem != "" {
			return nil, &configError{path, number, problem}
		}
		c.values[key] = append(c.values[key], value)
	}
	return c, nil
}

// wrong returns what is wrong with a value of a flag, or nothing.
func wrong(f *kong.Flag, value string) string {
	if value == "" {
		return f.Name + " has no value"
	}
	if f.Enum != "" && !f.EnumMap()[value] {
		return fmt.Sprintf("%s must be one of %s", f.Name, f.Enum)
	}
	target := reflect.New(f.Target.Type()).Elem()
	defer func(set bool) { f.Set = set }(f.Set) // this was but a try
	if err := f.Parse(kong.Scan().PushTyped(value, kong.FlagValueToken), target); err != nil {
		return err.Error()
	}
	if strings.HasSuffix(f.Name, "listen") && (f.Name != "web-listen" || value != nowhere) {
		if err := checkListen(value); err != nil {
			return fmt.Sprintf("%s %s: %v", f.Name, value, err)
		}
	}
	return ""
}

// Validate implements kong.Resolver.
func (*config) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (c *config) Resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	values := c.values[f.Name]
	for _, env := range f.Envs {
		if _, set := os.LookupEnv(env); set {
			return nil, nil
		}
	}
	switch {
	case len(values) == 0:
		return nil, nil
	case f.IsSlice():
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		return list, nil
	}
	return values[0], nil
}

type checkConfigCmd struct {
	File string `arg:"" type:"existingfile" help:"The file for serve --config."`
}

// Run says whether serve would accept the file: its lines, how they go together, and the files that they name.
func (c *checkConfigCmd) Run(ctx context.Context, con console) error {
	var parsed cli
	parser, err := newParser(ctx, &parsed, con)
	if err != nil {
		return err
	}
	if _, err := parser.Parse([]string{"serve", "--config", c.File}); err != nil {
		return usageError{err}
	}
	if err := parsed.Serve.checkFiles(); err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintf(con.out, "%s: all right\n", c.File)
	return err
}

// checkFiles reads the files that flags name.
func (c *serveCmd) checkFiles() error {
	var errs []error
	if c.Security.TokenFile != "" {
		text, err := os.ReadFile(c.Security.TokenFile)
		if err == nil {
			_, err = access.ParseRules(string(text), c.Security.TokenFile)
		}
		errs = append(errs, err)
	}
	_, err := c.Security.certificates()
	errs = append(errs, err)
	for _, root := range c.Root {
		_, dir := splitRoot(root)
		if stat, err := os.Stat(dir); err == nil && !stat.IsDir() {
			errs = append(errs, fmt.Errorf("--root %s: is not a directory", root))
		}
	}
	return errors.Join(errs...)
}
