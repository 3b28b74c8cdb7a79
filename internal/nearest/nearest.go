// Package nearest finds the name that a user probably meant by one that does not exist.
package nearest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// longest is the number of bytes of the longest word that is compared.
const longest = 64

// Of returns the one of the known names that is most like word, or "" if none is like it. Case, and what words are joined by, do not
// count. Of names that are equally like it, the first is returned.
func Of(word string, known ...string) string {
	if len(word) > longest {
		return ""
	}
	folded := fold(word)
	best, least := "", min(utf8.RuneCountInString(folded)/3, 3)+1
	for _, name := range known {
		if len(name) > longest {
			continue
		}
		if d := distance(folded, fold(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// Hint returns the text `, did you mean "NAME"?`, or "" if no known name is like word.
func Hint(word string, known ...string) string {
	name := Of(word, known...)
	if name == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", name)
}

// fold returns a word in lower case, with underscores alone between its parts.
func fold(word string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '.' {
			return '_'
		}
		return r
	}, strings.ToLower(word))
}

// distance returns how many characters must be added, removed, replaced, or exchanged with their neighbours to make b of a.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	var before, last []int // the rows of the two characters before
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		before, last = last, row
		row = make([]int, len(to)+1)
		row[0] = i + 1
		for j := range to {
			row[j+1] = min(last[j+1], row[j]) + 1
			if from[i] == to[j] {
				row[j+1] = min(row[j+1], last[j])
			} else {
				row[j+1] = min(row[j+1], last[j]+1)
			}
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
