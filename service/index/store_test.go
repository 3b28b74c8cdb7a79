package index_test

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
)

// storeVariable makes the test's own executable run as a process that stores an index until it is killed.
const storeVariable = "REPLAYD_TEST_STORE"

func storeUntilKilled(path string) {
	c, err := catalog.New([]catalog.Root{{Alias: "r", Dir: filepath.Join(filepath.Dir(path), "games")}}, catalog.Options{})
	if err != nil {
		panic(err)
	}
	go func() { // it must not outlive its parent
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	for {
		x, err := index.Open(index.Config{
			Files: c, Log: slog.New(slog.DiscardHandler), Codec: codecOf, Describe: describe.Replay, Path: path, Budget: 1,
		})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for x.Figures().Surveyed < 1 {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("stores")
		if err := x.Close(); err != nil {
			panic(err)
		}
		if err := os.Remove(path); err != nil { // so that everything is written again
			panic(err)
		}
	}
}

// facts returns all facts of an index about files.
func facts(t *testing.T, x *index.Index) (all []string) {
	t.Helper()
	for token := ""; ; {
		page, err := x.List(t.Context(), index.Query{Scope: index.Everything()}, token, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Replays {
			s := e.Survey
			if s == nil {
				t.Fatalf("%s was not decoded", e.Name)
			}
			all = append(all, fmt.Sprint(e.Info, e.Identity, e.Lineage, e.MapName, e.Started, e.TicksPerSecond, e.LastTick, e.Length, e.Players(), e.Lineup(), *s.Whole()))
		}
		if token = page.Next; token == "" {
			return all
		}
	}
}

func surveyed(t *testing.T, x *index.Index, n int) {
	t.Helper()
	await(t, fmt.Sprint(n, " games are known"), func() bool {
		list(t, x, index.Query{Scope: index.Everything()}, 1000)
		return x.Figures().Surveyed == n
	})
}

// storing makes a directory of games and the path of an index beside it.
func storing(t *testing.T, n int) (tree, string) {
	t.Helper()
	dir := t.TempDir()
	tr := tree{t, filepath.Join(dir, "games")}
	for i := range n {
		tr.write(fmt.Sprintf("%d/%d", i%5, i), game(i+1, "map_name", fmt.Sprint("map", i)))
	}
	return tr, filepath.Join(dir, "index")
}

// TestStored checks that stored facts are not computed again, except for files that changed meanwhile.
func TestStored(t *testing.T) {
	t.Parallel()
	tr, path := storing(t, 20)
	roots := map[string]string{"r": tr.dir}
	var read atomic.Int64
	again := func(want int64, files int) *index.Index {
		t.Helper()
		read.Store(0)
		x := open(t, roots, describing(&read), func(c *index.Config) { c.Path, c.Budget = path, 1 })
		surveyed(t, x, files)
		if n := read.Load(); n < want || want == 0 && n > 0 { // two may read the same at once
			t.Errorf("%d headers were read, want %d", read.Load(), want)
		}
		return x
	}
	x := again(20, 20)
	before := facts(t, x)
	if _, err := tryOpen(t, roots, func(c *index.Config) { c.Path = path }); err == nil {
		t.Error("two use one index")
	}
	closed(t, x)
	x = again(0, 20)
	if !slices.Equal(facts(t, x), before) {
		t.Error("it is not what it was")
	}
	closed(t, x)
	tr.rename("0/5", "0/renamed")
	tr.rename("1", "moved")
	tr.remove("2/7")
	tr.write("2/7", game(100))
	tr.write("new", game(101))
	tr.remove("3")
	x = again(2, 17)
	if e, err := x.Get(t.Context(), "r/2/7", index.Everything()); err != nil || e.Identity != identity(100) {
		t.Errorf("%+v, %v", e, err)
	}
	closed(t, x)
	keys := 0
	edit(t, path, func(b *bbolt.Bucket) { keys = b.Stats().KeyN })
	if keys != 17 {
		t.Errorf("%d files are stored, want 17", keys)
	}
	x = again(0, 17)
	closed(t, x)
}

// edit changes the stored entries.
func edit(t *testing.T, path string, change func(*bbolt.Bucket)) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		change(tx.Bucket([]byte("files")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStoredByAnother checks that stored entries that cannot be parsed are dropped and computed again.
func TestStoredByAnother(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		change func(value []byte) []byte
		read   int64
	}{
		"unchanged":       {func(v []byte) []byte { return v }, 0},
		"another version": {func(v []byte) []byte { v[0]++; return v }, 10},
		"empty":           {func([]byte) []byte { return nil }, 10},
		"cut":             {func(v []byte) []byte { return v[:len(v)-1] }, 10},
		"cut early":       {func(v []byte) []byte { return v[:10] }, 10},
		"too long":        {func(v []byte) []byte { return append(v, 0) }, 10},
		"noise":           {func(v []byte) []byte { return append([]byte{1}, []byte(strings.Repeat("\xff", len(v)))...) }, 10},
		"another format":  {func(v []byte) []byte { v[1] = 200; return v }, 10},
		"a compression":   {func(v []byte) []byte { v[2] = 200; return v }, 10},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tr, path := storing(t, 10)
			roots := map[string]string{"r": tr.dir}
			x := open(t, roots, func(c *index.Config) { c.Path, c.Budget = path, 1 })
			surveyed(t, x, 10)
			want := facts(t, x)
			closed(t, x)
			edit(t, path, func(b *bbolt.Bucket) {
				values := map[string][]byte{}
				_ = b.ForEach(func(k, v []byte) error { values[string(k)] = test.change(slices.Clone(v)); return nil })
				for k, v := range values {
					tr.must(b.Put([]byte(k), v))
				}
			})
			for _, read := range []int64{test.read, 0} { // and is repaired
				var n atomic.Int64
				x = open(t, roots, describing(&n), func(c *index.Config) { c.Path, c.Budget = path, 1 })
				surveyed(t, x, 10)
				if got := facts(t, x); !slices.Equal(got, want) {
					t.Errorf("it is not what it was:\n%q\n%q", got, want)
				}
				if n := n.Load(); n < read || read == 0 && n > 0 {
					t.Errorf("%d headers were read, want %d", n, read)
				}
				closed(t, x)
			}
		})
	}
}

// TestStoredDamaged changes the stored entries at random. Files are still listed and surveyed, whatever the entries then
// contain.
func TestStoredDamaged(t *testing.T) {
	t.Parallel()
	tr, path := storing(t, 10)
	whole := game(11)
	tr.write("live", whole[:len(whole)/2]) // a growing file, whose decoder state is stored
	roots := map[string]string{"r": tr.dir}
	x := open(t, roots, func(c *index.Config) { c.Path, c.Budget = path, 1 })
	surveyed(t, x, 11)
	want := list(t, x, index.Query{Scope: index.Everything()}, 100)
	closed(t, x)
	kept, err := os.ReadFile(path)
	tr.must(err)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		tr.must(os.WriteFile(path, kept, 0o600))
		edit(t, path, func(b *bbolt.Bucket) {
			values := map[string][]byte{}
			_ = b.ForEach(func(k, v []byte) error { values[string(k)] = slices.Clone(v); return nil })
			for k, v := range values {
				for range 1 + round%4 {
					at := 3 + rng.IntN(len(v)-3)
					if at > len(v)/2 || round%2 == 0 { // states and rosters are at the end
						v[at] ^= byte(1 << rng.IntN(8))
					}
				}
				tr.must(b.Put([]byte(k), v))
			}
		})
		x := open(t, roots, func(c *index.Config) { c.Path, c.Budget = path, 1 })
		wantNames(t, "list", list(t, x, index.Query{Scope: index.Everything()}, 100), want...)
		e, err := x.Get(t.Context(), "r/live", index.Everything())
		tr.must(err)
		tr.append("live", whole[e.Size:e.Size+int64(len(whole))/100])
		if e, err = x.Get(t.Context(), "r/live", index.Everything()); err != nil {
			t.Fatal(err)
		}
		if e = x.Refresh(t.Context(), e); e.Survey == nil || e.Survey.Offset < e.Size/2 {
			t.Errorf("round %d: it is known up to %+v", round, e.Survey)
		}
		x.Family("r", index.Everything()).Roster(t.Context(), e.Identity)
		closed(t, x)
	}
}

// TestStoredFileDamaged checks that a file that is no index, or a part of one, is refused with its name.
func TestStoredFileDamaged(t *testing.T) {
	t.Parallel()
	tr, path := storing(t, 100)
	roots := map[string]string{"r": tr.dir}
	with := func(c *index.Config) { c.Path, c.Budget = path, 1 }
	x := open(t, roots, with)
	surveyed(t, x, 100)
	closed(t, x)
	whole, err := os.ReadFile(path)
	tr.must(err)
	refused := 0
	try := func(what string, data []byte) {
		t.Helper()
		path = filepath.Join(t.TempDir(), "index") // the damaged one may still be locked
		tr.must(os.WriteFile(path, data, 0o600))
		x, err := tryOpen(t, roots, with)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		if n := len(list(t, x, index.Query{Scope: index.Everything()}, 1000)); n != 100 {
			t.Errorf("%s: %d games", what, n)
		}
		_ = x.Close() // it may return an error of storing
	}
	try("noise", []byte(strings.Repeat("this is no index. ", 10_000)))
	try("short noise", []byte("no index"))
	if refused != 2 {
		t.Error("noise is an index")
	}
	for n := os.Getpagesize(); n < len(whole); n += max(os.Getpagesize(), len(whole)/20/os.Getpagesize()*os.Getpagesize()) {
		try(fmt.Sprint("cut to ", n), whole[:n])
	}
	if refused == 2 {
		t.Error("nothing was refused")
	}
	try("whole", whole)
}

// TestStoredByAKilledProcess kills a storing process again and again. The next process must start, with correct facts.
func TestStoredByAKilledProcess(t *testing.T) {
	t.Parallel()
	tr, path := storing(t, 100)
	roots := map[string]string{"r": tr.dir}
	x := open(t, roots, func(c *index.Config) { c.Budget = 1 })
	surveyed(t, x, 100)
	want := facts(t, x)
	found := 0
	for round := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), storeVariable+"="+path)
		in, err := cmd.StdinPipe()
		tr.must(err)
		out, err := cmd.StdoutPipe()
		tr.must(err)
		tr.must(cmd.Start())
		if _, err := io.ReadFull(out, make([]byte, len("stores\n")*(1+round%2))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(4_000)) * time.Microsecond)
		tr.must(cmd.Process.Kill())
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		_ = in.Close()
		var read atomic.Int64
		x := open(t, roots, describing(&read), func(c *index.Config) { c.Path, c.Budget = path, 1 })
		surveyed(t, x, 100)
		if !slices.Equal(facts(t, x), want) {
			t.Errorf("round %d: it knows something else", round)
		}
		if read.Load() < 100 {
			found++
		}
		closed(t, x)
		tr.must(os.Remove(path))
	}
	t.Logf("%d of 5 found something stored", found)
}
