package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/replayd/replayd/decoders"
)

// tableHead begins the table of formats, in the README and on the page of each format.
const tableHead = "| format | what | read | followed live |\n|---|---|---|---|\n"

// fillTable writes the rows of the README's table of formats. Each is copied from the page of its format.
func fillTable(readme, pages string) error {
	var rows strings.Builder
	for _, f := range decoders.Formats() {
		path := filepath.Join(pages, f.String()+".md")
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, after, _ := strings.Cut(string(page), tableHead)
		row, _, found := strings.Cut(after, "\n")
		if !found || !strings.HasPrefix(row, "| `"+f.String()+"` |") {
			return fmt.Errorf("%s has no table with the row of %s; it begins with:\n%s", path, f, tableHead)
		}
		rows.WriteString(row + "\n")
	}
	old, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	before, after, found := strings.Cut(string(old), tableHead)
	if !found {
		return fmt.Errorf("%s has no table of formats; it begins with:\n%s", readme, tableHead)
	}
	for strings.HasPrefix(after, "|") {
		_, after, _ = strings.Cut(after, "\n")
	}
	text := []byte(before + tableHead + rows.String() + after)
	if bytes.Equal(text, old) {
		return nil
	}
	return os.WriteFile(readme, text, 0o644)
}
