package teehistorian

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// This file lists the secrets. Everything that withholds secrets uses it.

// publicCommands are the chat commands whose arguments are public: those that DDNet 8 to 20.1 registers for the chat, except
// timeout, save, load, w, whisper, c and converse.
// Source: CGameContext::RegisterChatCommands, formerly src/game/server/ddracechat.h.
var publicCommands = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(`
		addweapon back cancelswap cmdlist collision credits deep dnd emote endless eyeemote grenade help hitothers
		hookcollision infjump info invincible invite jetpack join kill laser lasttp list livefreeze lock map mapinfo me
		ninja ninjajetpack pause pausevoted points practice practicecmdlist r rank rankteam removeweapon rescue rescuemode
		rifle rules saytime saytimeall setjumps setswitch settings shotgun showall showflag showothers solo spec specteam
		specvoted swap tc team team0mode teamrank teamtop5 telecursor teleport time timecp timer times togglepause
		togglespec top top5 top5points top5team totele totelecp toppoints tp tpxy undeep unendless ungrenade uninfjump
		unjetpack unlaser unlivefreeze unlock unninja unpractice unrifle unshotgun unsolo unweapons weapons whispers`) {
		set[name] = true
	}
	return set
}()

// publicCommand reports whether the arguments of a chat command are public. Servers ignore the case of the name.
func publicCommand(name []byte) bool { return publicCommands[strings.ToLower(string(name))] }

// secretWords make a name secret wherever they occur in it, and secretParts if they are a part between underscores. secretNames
// are secret as a whole. All are in lower case.
var (
	secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "webhook"}
	secretParts = []string{"pass", "pw", "pwd", "key", "apikey"}
	secretNames = []string{"add_sqlserver", "auth_add", "auth_add_p", "auth_change", "auth_change_p"}
)

// SecretSetting reports whether the value of a setting, or the arguments of the command with that name, may be a password or the
// like. It judges by the name, because modified servers have their own settings. Case does not matter.
func SecretSetting(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains(secretNames, name) {
		return true
	}
	for part := range strings.SplitSeq(name, "_") {
		if slices.Contains(secretParts, part) {
			return true
		}
	}
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// secretText reports whether a text mentions a secret setting. A text may be a command with its arguments.
func secretText(text []byte) bool {
	for name := range bytes.FieldsFuncSeq(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_'
	}) {
		if SecretSetting(string(name)) {
			return true
		}
	}
	return false
}

// Redacted returns the header with empty texts in place of settings that may be passwords. Servers record no setting that has its
// default, and a password's default is empty, so an empty one was withheld.
func (h *Header) Redacted() *Header {
	r := *h
	r.Config, r.Other = maps.Clone(h.Config), maps.Clone(h.Other)
	for name := range r.Config {
		if SecretSetting(name) {
			r.Config[name] = ""
		}
	}
	for key, value := range r.Other {
		if SecretSetting(key) || secretText([]byte(value)) {
			r.Other[key] = ""
		}
	}
	return &r
}

// redactHeader is like Header.Redacted, for the text of a header.
func redactHeader(text []byte) ([]byte, error) {
	empty := json.RawMessage(`""`)
	var parsed Header
	return editObject(text, func(key string, value json.RawMessage) (json.RawMessage, error) {
		switch _, object := texts(value); {
		case key == "config" && object:
			return editObject(value, func(name string, value json.RawMessage) (json.RawMessage, error) {
				if SecretSetting(name) {
					value = empty
				}
				return value, nil
			})
		case !parsed.set(key, value) && (SecretSetting(key) || secretText(value)):
			return empty, nil
		}
		return value, nil
	})
}
