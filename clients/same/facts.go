package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// facts are the facts of a file, as a line of facts.golden has them.
type facts struct {
	// File is the file's name, from the repository.
	File string `json:"file"`
	// Kinds has the facts of each kind.
	Kinds map[string]*ofKind `json:"kinds"`
}

// ofKind are the facts of a kind.
type ofKind struct {
	Count int `json:"count"`
	// Hash is the beginning of the SHA-256 of all of them.
	Hash string `json:"hash"`
	// First is the first one. It is absent for files that are not part of the repository.
	First map[string]any `json:"first,omitempty"`
}

// hashLength is how many digits of a hash the golden file has.
const hashLength = 16

// samples is the directory of the files that are part of the repository.
const samples = "testdata/"

// factKinds returns the names of the kinds of facts of a file's format.
func factKinds(info *replaydv1.GetServerInfoResponse, file string) (kinds []string) {
	format := replaydv1.Format_FORMAT_TEEHISTORIAN
	if strings.HasSuffix(file, ".SC2Replay") {
		format = replaydv1.Format_FORMAT_SC2REPLAY
	}
	for _, f := range info.GetFormats() {
		for _, kind := range f.GetKinds() {
			if f.GetFormat() == format && strings.HasPrefix(kind.GetName(), "fact_") && !kind.GetNeedsMap() {
				kinds = append(kinds, kind.GetName())
			}
		}
	}
	return kinds
}

// factsOf uploads a file below a directory, and returns its facts.
func factsOf(ctx context.Context, client *replayd.Client, directory, file string) (*facts, error) {
	info, err := client.Info(ctx)
	if err != nil {
		return nil, err
	}
	content, err := os.Open(filepath.Join(directory, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	got := &facts{File: file, Kinds: map[string]*ofKind{}}
	events := map[string][]byte{}
	include := replayd.Kinds(factKinds(info, file)...)
	for event, err := range client.Decode(ctx, content, &replaydv1.StreamEventsRequest{Include: include}).Events() {
		if err != nil {
			break // what a damaged file has before its damage counts
		}
		text, err := event.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("a fact of %s as JSON: %w", file, err)
		}
		var value map[string]any
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, fmt.Errorf("a fact of %s as JSON: %w", file, err)
		}
		delete(value, "sequence") // which other kinds of facts would change
		kind := got.Kinds[event.Kind]
		if kind == nil {
			kind = &ofKind{}
			got.Kinds[event.Kind] = kind
			if strings.HasPrefix(file, samples) {
				kind.First = value
			}
		}
		kind.Count++
		events[event.Kind] = canonical(events[event.Kind], value)
	}
	for name, kind := range got.Kinds {
		sum := sha256.Sum256(events[name])
		kind.Hash = hex.EncodeToString(sum[:])[:hashLength]
	}
	return got, nil
}
