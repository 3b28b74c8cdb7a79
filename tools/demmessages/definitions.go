package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// definitions holds the definitions of one game.
type definitions struct {
	enums    map[string][]value
	messages map[string][]field
}

type value struct {
	name   string
	number int
}

type field struct {
	number   int
	repeated bool
	typ      string // a scalar type, "enum" or "message"
	name     string
	message  string // the type of a message
}

var (
	lineOpen  = regexp.MustCompile(`^(message|enum) (\w+) \{(\s*\})?$`)
	lineValue = regexp.MustCompile(`^(\w+) = (-?\d+)\b`)
	lineField = regexp.MustCompile(`^(?:(optional|required|repeated) )?([.\w]+) (\w+) = (\d+)\b`)
)

// wire returns how the field is encoded. The type of a field may change to another type with the same encoding.
func (f field) wire() string {
	switch f.typ {
	case "fixed32", "sfixed32", "float":
		return "32 bits"
	case "fixed64", "sfixed64", "double":
		return "64 bits"
	case "string", "bytes", "message":
		return "bytes"
	}
	return "varint"
}

// text writes the type of a field of the named message.
func (f field) text(of string) string {
	typ := f.typ
	switch {
	case f.message != "":
		typ = f.message
	case typ == "bytes" && contents[of] != "":
		typ = contents[of]
	}
	if f.repeated {
		return "*" + typ
	}
	return typ
}

// readDefinitions reads all .proto files of a directory.
func readDefinitions(dir string) (*definitions, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no definitions in %s: %w", dir, err)
	}
	d := &definitions{enums: map[string][]value{}, messages: map[string][]field{}}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		d.read(string(text))
	}
	for _, fields := range d.messages {
		for i := range fields {
			f := &fields[i]
			to := strings.TrimPrefix(f.typ, ".")
			switch {
			case !strings.HasPrefix(f.typ, "."):
			case d.enums[to] != nil:
				f.typ = "enum"
			case d.messages[to] != nil:
				f.typ, f.message = "message", to
			default: // of a missing file
				f.typ, f.message = "message", to
			}
		}
	}
	return d, nil
}

// read adds the definitions of a file. Its text has one statement a line, as SteamDatabase prints it.
func (d *definitions) read(text string) {
	type scope struct{ kind, name string }
	var open []scope
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		top := scope{}
		if len(open) > 0 {
			top = open[len(open)-1]
		}
		if m := lineOpen.FindStringSubmatch(line); m != nil {
			name := strings.TrimPrefix(top.name+"."+m[2], ".")
			if m[1] == "message" {
				d.messages[name] = []field{}
			} else {
				d.enums[name] = []value{}
			}
			if m[3] == "" {
				open = append(open, scope{m[1], name})
			}
			continue
		}
		switch {
		case strings.HasSuffix(line, "{"):
			open = append(open, scope{"other", top.name})
		case line == "}":
			open = open[:max(0, len(open)-1)]
		case top.kind == "enum":
			if m := lineValue.FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[2])
				d.enums[top.name] = append(d.enums[top.name], value{m[1], n})
			}
		case top.kind == "message":
			if m := lineField.FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[4])
				d.messages[top.name] = append(d.messages[top.name], field{number: n, repeated: m[1] == "repeated", typ: m[2], name: m[3]})
			}
		}
	}
}

// numbers returns the messages of packets, from the enums that number them.
func (d *definitions) numbers(warn io.Writer) (out []numbered) {
	fold := map[string]string{}
	for name := range d.messages {
		fold[strings.ToLower(name)] = name
	}
	for enum, rule := range rules {
		for _, v := range d.enums[enum] {
			if slices.Contains(absent, v.name) || v.number < 0 {
				continue
			}
			name := renamed[v.name]
			for _, prefix := range rule.messages {
				if name == "" {
					short := strings.TrimSuffix(strings.TrimPrefix(v.name, rule.prefix), rule.suffix)
					name = fold[strings.ToLower(prefix+short)]
				}
			}
			if name == "" {
				_, _ = fmt.Fprintf(warn, "%s = %d has no definition\n", v.name, v.number)
				name = v.name
			}
			out = append(out, numbered{v.number, name})
		}
	}
	return out
}
