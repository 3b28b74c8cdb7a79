package admission

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func refused(t *testing.T, err error) (Resource, string) {
	t.Helper()
	e, ok := errors.AsType[*RefusedError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if e.Retry <= 0 || e.Error() == "" {
		t.Errorf("%+v says not when to try again", e)
	}
	return e.Resource, e.Whose
}

func TestShares(t *testing.T) {
	c := New(Limits{
		All: Amounts{Streams: 10, Memory: 1000}, Caller: Amounts{Streams: 4, Memory: 300},
	})
	a := Who{Token: "a", Address: "1"}
	var held []*Ticket
	for range 4 {
		ticket, err := c.Enter(a, Streams)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, ticket)
	}
	if _, err := c.Enter(a, Streams); err == nil {
		t.Error("a fifth stream of a token")
	} else if r, whose := refused(t, err); r != Streams || whose != "token" {
		t.Errorf("%v %q", r, whose)
	}
	if _, err := c.Enter(Who{Token: "b", Address: "1"}, Streams); err == nil {
		t.Error("a fifth stream of an address")
	} else if _, whose := refused(t, err); whose != "address" {
		t.Errorf("%q", whose)
	}
	if _, err := c.Enter(Who{Token: "c", Limits: Amounts{Streams: 1}}, Streams); err != nil {
		t.Error(err)
	} else if _, err := c.Enter(Who{Token: "c", Limits: Amounts{Streams: 1}}, Streams); err == nil {
		t.Error("a token's own limit does not hold")
	}
	for range 5 {
		if _, err := c.Enter(Who{}, Streams); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Enter(Who{Token: "d"}, Streams); err == nil {
		t.Error("an eleventh stream")
	} else if _, whose := refused(t, err); whose != "" {
		t.Errorf("%q", whose)
	}
	if err := held[0].Memory(300); err != nil {
		t.Error(err)
	}
	if err := held[1].Memory(1); err == nil {
		t.Error("more memory than the token's")
	}
	held[0].Return()
	held[0].Return()
	if err := held[0].Memory(1); err != nil || c.Taken(Memory) != 0 {
		t.Errorf("after it was returned a ticket takes %d, %v", c.Taken(Memory), err)
	}
	if err := held[1].Memory(300); err != nil {
		t.Error(err)
	}
	if _, err := c.Enter(a, Streams); err != nil {
		t.Errorf("a place was not given back: %v", err)
	}
	held[0].Charge(Memory, 1<<60) // it is over
	if taken := c.Taken(Memory); taken != 300 {
		t.Errorf("%d bytes are taken, want 300", taken)
	}
	held[1].Charge(Memory, 1<<60)
	if taken := c.Taken(Memory); taken != 300+1<<60 {
		t.Errorf("%d bytes are taken, of which most are charged", taken)
	}
	var none *Ticket
	if none.Memory(1<<60) != nil {
		t.Error("the nil ticket refuses")
	}
	none.Charge(Memory, 1)
	none.Return()
}

// TestNever: a call that alone needs more than there will ever be is told so, also where it takes that bit by bit; another call is not.
func TestNever(t *testing.T) {
	for whose, limits := range map[string]Limits{"": {All: Amounts{Memory: 300}}, "token": {Caller: Amounts{Memory: 300}}} {
		c := New(limits)
		first, err := c.Enter(Who{Token: "a"}, Streams)
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.Enter(Who{Token: "a"}, Streams)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Memory(200); err != nil {
			t.Fatal(err)
		}
		for ticket, never := range map[*Ticket]bool{first: true, second: false} {
			refusal, ok := errors.AsType[*RefusedError](ticket.Memory(101))
			if !ok || refusal.Never != never || refusal.Whose != whose {
				t.Errorf("%q: %+v, want never: %t", whose, refusal, never)
			}
		}
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Limits{})
		w := Who{Token: "a", Rate: 2}
		calls := 0
		for range 100 {
			if ticket, err := c.Enter(w, Calls); err == nil {
				ticket.Return()
				calls++
			} else if _, whose := refused(t, err); whose != "rate" {
				t.Errorf("%q", whose)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if calls < 20 || calls > 23 {
			t.Errorf("%d calls in 10 s at 2/s", calls)
		}
		slow := Who{Token: "b", Rate: 0.5}
		calls = 0
		for range 20 {
			if ticket, err := c.Enter(slow, Calls); err == nil {
				ticket.Return()
				calls++
			}
			time.Sleep(500 * time.Millisecond)
		}
		if calls < 5 || calls > 6 {
			t.Errorf("%d calls in 10 s at one in 2 s", calls)
		}
	})
}

// TestNothingIsLost: after any sequence of takes and returns, the totals equal what the tickets hold, and no total exceeds its
// limit. In the end nothing is taken and no caller is remembered.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{All: Amounts{Streams: 8, Memory: 100}, Caller: Amounts{Streams: 3, Memory: 40}}
		c := New(l)
		held := map[*Ticket]int64{}
		var order []*Ticket
		total := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch {
			case rapid.Bool().Draw(t, "enter"):
				w := Who{Token: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "token"), Address: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "address")}
				if ticket, err := c.Enter(w, Streams); err == nil {
					held[ticket] = 0
					order = append(order, ticket)
				}
			case len(order) == 0:
			default:
				i := rapid.IntRange(0, len(order)-1).Draw(t, "ticket")
				ticket := order[i]
				if rapid.Bool().Draw(t, "return") {
					ticket.Return()
					total -= held[ticket]
					delete(held, ticket)
					order = append(order[:i:i], order[i+1:]...)
					continue
				}
				n := rapid.Int64Range(-held[ticket], 60).Draw(t, "n")
				if ticket.Memory(n) == nil {
					held[ticket] += n
					total += n
				} else if n <= 0 {
					t.Fatalf("giving back %d is refused", -n)
				}
			}
			if c.Taken(Memory) != total || c.Taken(Streams) != int64(len(order)) || total > 100 || len(order) > 8 {
				t.Fatalf("%d bytes and %d streams are taken, want %d and %d", c.Taken(Memory), c.Taken(Streams), total, len(order))
			}
			for key, one := range c.callers {
				if one.taken[Memory] > 40 || one.taken[Streams] > 3 || one.taken[Memory] < 0 {
					t.Fatalf("%s has taken %v", key, one.taken)
				}
			}
		}
		for _, ticket := range order {
			ticket.Return()
		}
		if c.all != (Amounts{}) || len(c.callers) != 0 {
			t.Fatalf("%v is left, and %d callers", c.all, len(c.callers))
		}
	})
}

// TestTurns: no more turns run than there are processors. Each of two callers gets every second turn, however many streams it
// has. A stream that leaves the queue does not keep a turn.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		first := turns.Take(nil, nil, "x")
		var mu sync.Mutex
		var got []string
		var wg sync.WaitGroup
		run := func(caller string) {
			wg.Go(func() {
				turn := turns.Take(nil, nil, caller)
				mu.Lock()
				got = append(got, caller)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				turns.Give(turn)
			})
			synctest.Wait()
		}
		for range 5 {
			run("many")
		}
		done := make(chan struct{})
		wg.Go(func() {
			if turns.Take(done, nil, "leaver") != nil {
				t.Error("a turn for who has left")
			}
		})
		synctest.Wait()
		close(done)
		run("one")
		run("one")
		turns.Give(first)
		wg.Wait()
		want := []string{"many", "one", "many", "one", "many", "many", "many"}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("turns %v, want %v", got, want)
			}
		}
		if turns.free != 1 || len(turns.queues) != 0 || len(turns.order) != 0 || len(turns.running) != 0 {
			t.Errorf("left over: %+v", turns)
		}
	})
}

// TestWithdrawn: whoever leaves just when it gets its turn gives it back.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		for range 50 { // which of the two a leaver sees first is random
			first, done := turns.Take(nil, nil, "a"), make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				if turn := turns.Take(done, nil, "leaver"); turn != nil {
					turns.Give(turn)
				}
			})
			synctest.Wait()
			turns.mu.Lock() // nobody sees one of the two without the other
			close(done)
			delete(turns.running, first)
			turns.free++
			turns.next()
			turns.mu.Unlock()
			wg.Wait()
			if turns.free != 1 || len(turns.running) != 0 {
				t.Fatalf("left over: %+v", turns)
			}
		}
	})
}

// TestKept: one processor of several gets no turn, so that something else can always run; only a turn that nobody waits for takes it.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(3)
		reads, ahead := turns.Spare(), turns.Spare()
		began := time.Now()
		first, second := turns.Take(nil, nil, "a"), turns.Take(nil, nil, "b")
		if took := time.Since(began); took > 0 {
			t.Errorf("turns wait %v for spare ones", took)
		}
		if reads(); turns.Spare() != nil {
			t.Error("a second spare turn beside two turns of three processors")
		}
		ahead()
		if ahead = turns.Spare(); ahead == nil {
			t.Fatal("want a spare turn beside two turns of three processors")
		}
		ahead()
		var third *Turn
		go func() { third = turns.Take(nil, nil, "c") }()
		synctest.Wait()
		if third != nil {
			t.Error("a third turn of three processors")
		}
		if turns.Spare() != nil {
			t.Error("a spare turn while others wait")
		}
		turns.Give(first)
		synctest.Wait()
		if third == nil {
			t.Fatal("who waits gets no turn")
		}
		turns.Give(second)
		turns.Give(third)
		if turns.free != 3 || turns.spare != 0 || len(turns.running) != 0 {
			t.Errorf("left over: %+v", turns)
		}
	})
}

// TestLong: while a turn takes long, who waits gets the processor that is kept; the next one that takes long is waited for.
func TestLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		long := turns.Take(nil, nil, "long")
		began := time.Now()
		second := turns.Take(nil, nil, "other")
		if took := time.Since(began); took > 2*longAfter {
			t.Errorf("the kept processor came after %v", took)
		}
		began = time.Now()
		third := turns.Take(nil, nil, "other")
		if took := time.Since(began); took < stuckAfter/2 || took > 2*stuckAfter {
			t.Errorf("more turns than processors after %v", took)
		}
		for _, turn := range []*Turn{long, second, third} {
			turns.Give(turn)
		}
		time.Sleep(time.Second)
		if turns.free != 2 || turns.watched {
			t.Errorf("left over: %+v", turns)
		}
	})
}

// TestManyLong: while several turns take long, who waits gets no more than the processor that is kept, until those turns count as stuck.
func TestManyLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(4)
		took := make(chan *Turn, 10)
		for range 3 {
			took <- turns.Take(nil, nil, "long")
		}
		for range 3 {
			go func() { took <- turns.Take(nil, nil, "other") }()
		}
		for _, at := range []struct {
			after time.Duration
			turns int
		}{{longAfter / 2, 3}, {stuckAfter / 2, 4}, {stuckAfter, 6}} {
			time.Sleep(at.after)
			if synctest.Wait(); len(took) != at.turns {
				t.Errorf("%v later %d have turns, not %d", at.after, len(took), at.turns)
			}
		}
		for range 6 {
			turns.Give(<-took)
		}
		time.Sleep(time.Second)
		if turns.free != 4 || turns.watched {
			t.Errorf("left over: %+v", turns)
		}
	})
}

// TestStuck: a stream that keeps its turn, such as one that waits for a disk, blocks the others only for a moment.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		stuck := turns.Take(nil, nil, "stuck")
		began := time.Now()
		for range 3 {
			turns.Give(turns.Take(nil, nil, "other"))
		}
		if took := time.Since(began); took > 3*stuckAfter {
			t.Errorf("it took %v", took)
		}
		turns.Give(stuck)
		if turns.free != 1 {
			t.Errorf("%d are free", turns.free)
		}
	})
}

// TestPace: the more memory is taken, the more often garbage is collected, so that live memory and garbage together stay near
// the limit. A small heap may have more garbage than it is large, as much as a sixteenth of the limit.
func TestPace(t *testing.T) {
	const limit = 1600
	for _, test := range []struct{ live, most int }{{0, 1000}, {30, 300}, {60, 100}, {1 << 20, 100}} {
		c := New(Limits{All: Amounts{Memory: limit}})
		percent, calls := 100, 0
		c.Pace(func() int64 { return int64(test.live) }, func(p int) { percent, calls = p, calls+1 })
		ticket := c.Hold(Who{})
		if percent != test.most {
			t.Errorf("with nothing taken a heap of %d may grow by %d %%", test.live, percent)
		}
		for taken := int64(0); taken < limit; taken += 10 {
			if err := ticket.Memory(10); err != nil {
				t.Fatal(err)
			}
			if now := float64(taken + 10); now*(1+float64(percent)/100) > 1.15*limit || percent < 6 || percent > test.most {
				t.Fatalf("with %v of %d taken a heap of %d may grow by %d %%", now, limit, test.live, percent)
			}
			if taken < limit/2-10 && percent < 100 || taken == 0 && percent < test.most {
				t.Fatalf("with %d of %d taken the heap may grow by %d %% only", taken, limit, percent)
			}
		}
		if calls > 17 {
			t.Errorf("it was set %d times", calls)
		}
		ticket.Return()
		if percent != test.most {
			t.Errorf("with nothing taken again a heap of %d may grow by %d %%", test.live, percent)
		}
	}
	New(Limits{}).Pace(nil, nil) // no limit, no pace
}

// TestPaceStreams: a heap of streams that wait has less garbage, the more of them there are. What else is in the heap may have as much
// garbage as always.
func TestPaceStreams(t *testing.T) {
	const own = 8 << 20
	for _, test := range []struct{ streams, others, percent int }{
		{0, 0, 800}, {10, 0, 700}, {100, 0, 500}, {500, 0, 100}, {1000, 0, 20}, {4000, 0, 20}, {0, 200 << 20, 100}, {1000, 200 << 20, 90}, {4000, 50 << 20, 40},
	} {
		c := New(Limits{All: Amounts{Memory: 1 << 40}})
		percent, live := 100, own+test.others+test.streams*(20<<10)
		c.Pace(func() int64 { return int64(live) }, func(p int) { percent = p })
		for range test.streams {
			ticket, err := c.Enter(Who{}, Streams)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(ticket.Return)
			if err := ticket.Memory(1 << 10); err != nil { // as each stream takes
				t.Fatal(err)
			}
		}
		if percent != test.percent {
			t.Errorf("with %d streams a heap of %d MiB may grow by %d %%, want %d", test.streams, live>>20, percent, test.percent)
		}
	}
}

// TestPaceCollected: how much the heap may grow follows its size after a garbage collection.
func TestPaceCollected(t *testing.T) {
	var live atomic.Int64
	set, late := make(chan int, 99), time.After(10*time.Second)
	New(Limits{All: Amounts{Memory: 1 << 40}}).Pace(live.Load, func(percent int) { set <- percent })
	for _, test := range []struct{ live, percent int }{{0, 1000}, {24 << 20, 200}, {1 << 30, 100}, {8 << 20, 800}} {
		live.Store(int64(test.live))
		for got := 0; got != test.percent; {
			runtime.GC()
			select {
			case got = <-set:
			case <-time.After(time.Millisecond):
			case <-late:
				t.Fatalf("after garbage collections with a heap of %d it is not %d %%", test.live, test.percent)
			}
		}
	}
	if got := Live(); got < 1<<10 || got > 1<<30 {
		t.Errorf("the heap has %d bytes", got)
	}
}

func TestThere(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing", nil, 0},
		{"a machine", map[string]string{"proc/meminfo": "MemFree: 1 kB\nMemTotal:       2048 kB\n"}, 2 << 20},
		{"version 2", map[string]string{
			"proc/meminfo": "MemTotal: 4096 kB\n", "proc/self/cgroup": "0::/system.slice/replayd.service\n",
			"sys/fs/cgroup/system.slice/replayd.service/memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "1048576\n",
		}, 1 << 20},
		{"version 2, high", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2097152\n", "sys/fs/cgroup/memory.high": "1048576\n",
		}, 1 << 20},
		{"version 1", map[string]string{
			"proc/self/cgroup": "3:cpu:/x\n2:hugetlb,memory:/docker/1\n",
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "1048576\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 1 << 20},
		{"nonsense", map[string]string{"proc/self/cgroup": "x\n0::/..\n", "sys/fs/cgroup/memory.max": "-1", "proc/meminfo": "MemTotal: x"}, 0},
	} {
		dir := t.TempDir()
		for name, text := range test.files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := thereBelow(dir); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// TestTune: the limit of Go's runtime follows the memory there is, unless that is not known or somebody has set the limit.
func TestTune(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "")
	Tune(0)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("not known: %d, want %d", got, before)
	}
	Tune(1000 << 20)
	t.Setenv("GOMEMLIMIT", "1GiB")
	Tune(2000 << 20)
	if got := debug.SetMemoryLimit(-1); got != 900<<20 {
		t.Errorf("%d, want %d", got, 900<<20)
	}
}

// TestRateClockSetBack: when the clock is set back, a token continues at its rate from there. It is not refused until the clock
// reaches the old time again.
func TestRateClockSetBack(t *testing.T) {
	one, now := &caller{}, time.Now()
	if !one.call(1, now) || one.call(1, now) {
		t.Fatal("one call a second is not that")
	}
	now = now.Add(-24 * time.Hour)
	if one.call(1, now) {
		t.Error("setting the clock back gives a call for nothing")
	}
	if !one.call(1, now.Add(time.Second)) {
		t.Error("a second later nothing goes")
	}
	if now = now.Add(24 * time.Hour); !one.call(1, now) || one.call(1, now) {
		t.Error("setting it forward gives more than one call at once")
	}
}

// TestLabels checks that resources have the same names in all metrics, without spaces, which queries would have to quote.
func TestLabels(t *testing.T) {
	c := New(Limits{All: Amounts{Temporary: 1}})
	reg := prometheus.NewRegistry()
	c.Register(reg)
	for range 2 { // the second is refused
		_, _ = c.Enter(Who{}, Temporary)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "resource" {
					names[label.GetValue()]++
				}
			}
		}
	}
	want := map[string]int{"streams": 3, "calls": 3, "feeds": 3, "memory": 3, "spool": 3, "temporary_replays": 3}
	if !maps.Equal(names, want) {
		t.Errorf("resources have these metrics: %v, want %v", names, want)
	}
}
