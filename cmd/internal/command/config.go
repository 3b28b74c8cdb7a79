package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/replayd/replayd/internal/nearest"
	"github.com/replayd/replayd/service/access"
)

// configFile is the path of a file of flags. Each line is "name = value", with the name as on the command line without the
// dashes. Repeatable flags have one line per value. The command line and the environment take precedence over the file. Empty
// lines and lines that begin with # are ignored.
type configFile string

// BeforeResolve makes kong look up flags that are not set elsewhere in the file.
func (configFile) BeforeResolve(_ *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	path, _ := ctx.FlagValue(trace.Flag).(configFile)
	if path == "" {
		return nil
	}
	c, err := readConfig(string(path), ctx.Selected())
	if err != nil {
		return err
	}
	if len(c.wrong) > 0 {
		return errors.Join(c.wrong...)
	}
	ctx.AddResolver(c)
	return nil
}

// config holds the flags of a file.
type config struct {
	values map[string][]string // by flag
	wrong  []error             // a *configError for each invalid line
	left   []string            // flags of invalid lines
}

// configError is an invalid line of a file.
type configError struct {
	file    string
	line    int
	problem string
}

func (e *configError) Error() string {
	return fmt.Sprintf("%s, line %d: %s", e.file, e.line, e.problem)
}

// readConfig reads a file of flags of a command.
func readConfig(path string, command *kong.Node) (*config, error) {
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
			problem = fmt.Sprintf("%s has no flag %s", command.Name, key) + nearest.Hint(key, slices.Sorted(maps.Keys(flags))...)
		case len(c.values[key]) > 0 && !f.IsSlice():
			problem = key + " is set twice"
		default:
			problem = checkValue(f, value)
		}
		if problem != "" {
			c.wrong, c.left = append(c.wrong, &configError{path, number, problem}), append(c.left, key)
			continue
		}
		c.values[key] = append(c.values[key], value)
	}
	return c, nil
}

// checkValue returns why a value is invalid for a flag, or an empty text if it is valid.
func checkValue(f *kong.Flag, value string) string {
	if value == "" {
		return f.Name + " has no value"
	}
	if f.Enum != "" && !f.EnumMap()[value] {
		return fmt.Sprintf("%s must be one of %s", f.Name, f.Enum)
	}
	target := reflect.New(f.Target.Type()).Elem()
	defer func(set bool) { f.Set = set }(f.Set) // Parse marks the flag as set, but this only checks the value
	if err := f.Parse(kong.Scan().PushTyped(value, kong.FlagValueToken), target); err != nil {
		return err.Error()
	}
	if strings.HasSuffix(f.Name, "listen") && (f.Name != "web-listen" || value != nowhere) {
		if err := CheckListen(value); err != nil {
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

// Run checks whether serve would accept the file: each line, their combination, and the files that they name. It tells everything
// that is wrong.
func (c *checkConfigCmd) Run(ctx context.Context, con Console, p Program) error {
	parsed := p.cli()
	parser, err := p.parser(ctx, parsed, con)
	if err != nil {
		return err
	}
	serve := parser.Model.Children[slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == "serve" })]
	read, err := readConfig(c.File, serve)
	if err != nil {
		return err
	}
	if parser, err = p.parser(ctx, parsed, con, kong.Resolvers(read)); err != nil {
		return err
	}
	_, err = parser.Parse([]string{"serve"})
	wrong := read.wrong
	for _, err := range append(parts(err), parts(parsed.Serve.checkFiles())...) {
		if !slices.ContainsFunc(read.left, func(flag string) bool { return strings.Contains(err.Error(), "--"+flag) }) {
			wrong = append(wrong, fmt.Errorf("%s: %w", c.File, err))
		}
	}
	if len(wrong) > 0 {
		return usageError{errors.Join(wrong...)}
	}
	_, err = fmt.Fprintf(con.Out, "%s: valid\n", c.File)
	return err
}

// parts returns the errors that were joined in err.
func parts(err error) []error {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		var all []error
		for _, part := range joined.Unwrap() {
			all = append(all, parts(part)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// checkFiles reads the files that flags name.
func (c *serveCmd) checkFiles() error {
	var errs []error
	if c.Security.TokenFile != "" {
		text, err := os.ReadFile(c.Security.TokenFile)
		if err == nil {
			_, err = access.ParseRules(string(text), c.Security.TokenFile, c.lineages.Roots())
		}
		errs = append(errs, err)
	}
	if c.Security.TLSKey != "" {
		_, err := c.Security.certificates()
		errs = append(errs, err)
	}
	for _, root := range c.Root {
		_, dir := splitRoot(root)
		if places, _ := c.program.places(dir); places != nil {
			continue // Validate has parsed the URL, and asking the store would need the daemon's credentials
		}
		if stat, err := os.Stat(dir); err == nil && !stat.IsDir() {
			errs = append(errs, fmt.Errorf("--root %s: not a directory", root))
		}
	}
	return errors.Join(errs...)
}
