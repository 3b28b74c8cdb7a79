package database_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/replayd/replayd/internal/database"
)

var name, key = []byte("bucket"), []byte("key")

// TestOpen: what was written is read again, load's error leaves the file to others, and one of bytes that are no database is told.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	open := func(load func(*bbolt.Tx) error) error {
		db, err := database.Open(path, load)
		if err == nil {
			err = db.Close()
		}
		return err
	}
	if err := open(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket(name)
		return errors.Join(err, b.Put(key, []byte("value")))
	}); err != nil {
		t.Fatal(err)
	}
	fails := errors.New("it fails")
	for range 2 { // the first call has closed the file
		if err := open(func(tx *bbolt.Tx) error {
			if got := tx.Bucket(name).Get(key); string(got) != "value" {
				t.Errorf("%q", got)
			}
			return fails
		}); !errors.Is(err, fails) {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(whole) - 1; size > 0; size /= 2 {
		path = filepath.Join(t.TempDir(), "cut") // a damaged one stays open
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(func(tx *bbolt.Tx) error {
			tx.Bucket(name).Get(key)
			return nil
		}); err == nil && size < os.Getpagesize() {
			t.Errorf("%d of %d bytes are taken for a database", size, len(whole))
		}
	}
}

// TestDamaged: what panics while it is read is damage.
func TestDamaged(t *testing.T) {
	_, err := database.Open(filepath.Join(t.TempDir(), "file"), func(*bbolt.Tx) error { panic("no page") })
	if damaged, ok := errors.AsType[*database.DamagedError](err); !ok || damaged.Reason != "no page" {
		t.Error(err)
	}
}
