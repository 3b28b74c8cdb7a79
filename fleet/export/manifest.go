package export

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
)

const (
	maxManifest = 1 << 20 // the maximum length of a manifest, in bytes
	manifestEnd = ".json"
)

// manifest describes a finished export of a replay. It is written last.
type manifest struct {
	Name      string           `json:"name"`
	Identity  string           `json:"identity"`
	SizeBytes int64            `json:"size_bytes"`
	SHA256    string           `json:"sha256"`
	Schema    string           `json:"schema_version"`
	Facts     uint32           `json:"facts_version,omitempty"` // 0 if the selection has no facts
	Selection string           `json:"selection"`
	Files     map[string]int64 `json:"files"` // sizes by name, relative to the directory
	// Replaced are files of the manifest that this one replaced. They may still exist.
	Replaced []string `json:"replaced,omitempty"`
	Damage   *Damage  `json:"damage,omitempty"`
	GivenUp  string   `json:"given_up,omitempty"` // see GiveUp
}

// commit puts the manifest in the place of the one with a version.
func (m *manifest) commit(ctx context.Context, place Place, name, version string) error {
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return CommitBytes(ctx, place, name, append(b, '\n'), version, m.Files)
}

// read reads a manifest and its version, which is no newer. The manifest is nil if there is none, and empty if it cannot be
// understood.
func read(ctx context.Context, place Place, name string) (m *manifest, version string, err error) {
	if version, err = place.Version(ctx, name); err != nil {
		return nil, "", err
	}
	b, err := place.Read(ctx, name, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, version, nil
	}
	if err != nil {
		return nil, "", err
	}
	if m, err = parse(b); err != nil {
		m = new(manifest)
	}
	return m, version, nil
}

// parse parses a manifest.
func parse(b []byte) (*manifest, error) {
	m := new(manifest)
	return m, json.Unmarshal(b, m)
}

// GiveUp puts a manifest without files, unless a finished export is there: then it changes nothing, and given is false. After
// GiveUp the files of earlier attempts can be removed. Without it a late attempt, such as one whose request is still on its way,
// could put its manifest after its tables were removed.
func GiveUp(ctx context.Context, place Place, name string) (given bool, err error) {
	m, version, err := read(ctx, place, name)
	if err != nil || m != nil && m.GivenUp == "" {
		return false, err
	}
	m = &manifest{Files: map[string]int64{}, GivenUp: rand.Text()} // the version differs from the last one's
	if err := m.commit(ctx, place, name, version); err != nil {
		return false, err
	}
	return true, nil
}

// schemaVersion identifies the tables of this version of the program.
func (e *Export) schemaVersion() string {
	if e.schema == "" {
		e.schema = e.o.Tables(e.formatName())
	}
	return e.schema
}
