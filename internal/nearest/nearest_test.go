package nearest_test

import (
	"strings"
	"testing"

	"github.com/replayd/replayd/internal/nearest"
)

func TestOf(t *testing.T) {
	known := []string{"join", "player_diff", "player_new", "log-format", "Über", strings.Repeat("x", 65)}
	for word, want := range map[string]string{
		"jon": "join", "joiin": "join", "joni": "join", "JOIN": "join", "jxyn": "", "kick": "", "": "", "j": "",
		"player-diff": "player_diff", "playerdif": "player_diff", "player_nwe": "player_new", "player_no": "player_new",
		"log_format": "log-format", "logformat": "log-format", "über": "Über", "ubr": "",
		strings.Repeat("x", 65): "", strings.Repeat("x", 64): "",
	} {
		if got := nearest.Of(word, known...); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := nearest.Of("cat", "cut", "bat"); got != "cut" {
		t.Errorf("of two that are equally like it %q", got)
	}
}

func TestHint(t *testing.T) {
	for word, want := range map[string]string{"jon": `, did you mean "join"?`, "else": ""} {
		if got := nearest.Hint(word, "join"); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
