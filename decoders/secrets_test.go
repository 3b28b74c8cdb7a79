package decoders_test

import (
	"testing"

	"github.com/replayd/replayd/decoders"
)

func TestSecrets(t *testing.T) {
	for text, want := range map[string]decoders.Secrets{
		"": 0, "none": 0, "false": 0, "all": decoders.AllSecrets, "true": decoders.AllSecrets,
		"connection_id":         decoders.SecretConnectionID,
		"antibot, private_talk": decoders.SecretAntibot | decoders.SecretPrivateTalk,
		"antibot,all":           decoders.AllSecrets,
	} {
		got, err := decoders.ParseSecrets(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := decoders.ParseSecrets(got.String()); err != nil || again != got {
			t.Errorf("%q: %v from %q, %v", text, again, got.String(), err)
		}
	}
	for i := decoders.Secrets(1); i < decoders.AllSecrets; i <<= 1 {
		if got, err := decoders.ParseSecrets(i.String()); err != nil || got != i {
			t.Errorf("kind %d is %q: %v, %v", i, i.String(), got, err)
		}
	}
	if _, err := decoders.ParseSecrets("antibot,another"); err == nil {
		t.Error("an unknown name is accepted")
	}
	if decoders.SecretAntibot.Has(decoders.SecretAntibot|decoders.SecretPasswords) || !decoders.AllSecrets.Has(decoders.SecretPasswords) {
		t.Error("a set has what it does not have")
	}
}
