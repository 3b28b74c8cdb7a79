package main

import (
	_ "embed" // the groups
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// group is some kinds of a page, under a heading.
type group struct {
	title string // empty for the only group of a format
	kinds []protoreflect.FieldDescriptor
}

//go:embed groups.txt
var groupsText string

// groups returns the groups of a format's kinds: the groups of groups.txt, or one group of all kinds in the order of the .proto
// file. A format in groups.txt must have all its kinds there.
func (f *format) groups() ([]group, error) {
	fields := f.kind.Fields()
	var found []group
	listed, inFormat := 0, false
	for line := range strings.Lines(groupsText) {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case first == "format":
			inFormat = rest == f.name
		case !inFormat || first == "" || first == "#":
		case first == "group":
			found = append(found, group{title: rest})
		default:
			kind := fields.ByName(protoreflect.Name(first))
			if kind == nil || len(found) == 0 {
				return nil, fmt.Errorf("groups.txt: %s has no kind %s", f.name, first)
			}
			last := &found[len(found)-1]
			last.kinds = append(last.kinds, kind)
			listed++
		}
	}
	if found == nil {
		all := group{}
		for i := range fields.Len() {
			all.kinds = append(all.kinds, fields.Get(i))
		}
		return []group{all}, nil
	}
	if listed != fields.Len() {
		return nil, fmt.Errorf("groups.txt: %d of the %d kinds of %s", listed, fields.Len(), f.name)
	}
	return found, nil
}
