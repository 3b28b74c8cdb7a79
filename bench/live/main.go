//go:build linux

// Program live measures the latency of the ticks of live games at followers, for given numbers of files and followers. One
// process writes the files as game servers do, the second is the daemon, and the third follows over TCP with one connection for
// each follower. The results are in docs/performance.md.
//
//	go run ./bench/live -files 10,50,200 -followers 100,500
//
// With -state, each follower watches the states of all files instead, and the time of a tick is that until the follower has the state at
// its end, or at the end of a later tick. With -all, each has the events of all files in one call; -broken adds files that cannot be decoded.
//
// Each row of its table has two measurements: of the daemon, with -facts again with all facts, and of a program that only writes the same number of bytes to the
// same number of connections when the files have grown. The second is the limit of the machine.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the parameters of all processes of a measurement.
type settings struct {
	Dir              string // where the files are
	Addr             string
	Files, Followers int
	Ticks            int // number of ticks to write; the first warmUp are not measured
	Plain            bool
	Facts            bool          // followers ask for all facts, too
	State            time.Duration // followers watch all files at this interval, unless it is 0
	Columns          []string      // of these states; all if there are none
	All              bool          // each follower has the events of all files in one call
	Broken           int           // files besides that grow, and cannot be decoded
}

const (
	players  = 64
	every    = 20 * time.Millisecond // servers play 50 ticks a second
	warmUp   = 100
	phases   = 10 // number of groups of servers that tick at different times
	onTheWay = time.Second
)

func main() {
	if role := os.Getenv("REPLAYD_BENCH_LIVE"); role != "" {
		var s settings
		check(json.Unmarshal([]byte(os.Getenv("REPLAYD_BENCH_LIVE_SETTINGS")), &s))
		map[string]func(settings){"write": write, "follow": follow, "plain": plain}[role](s)
		return
	}
	files := flag.String("files", "10", "numbers of files, with commas between")
	followers := flag.String("followers", "100", "numbers of followers, with commas between")
	seconds := flag.Int("seconds", 8, "how long to measure")
	facts := flag.Bool("facts", false, "measure followers that ask for all facts, too, as well")
	state := flag.Duration("state", 0, "measure followers that watch the states of all files at this interval instead")
	columns := flag.String("columns", "", "the columns of states, with commas between")
	all := flag.Bool("all", false, "measure followers that have the events of all files in one call")
	broken := flag.Int("broken", 0, "number of files besides that grow, and cannot be decoded")
	program := flag.String("daemon", "", "the daemon's program; it is built without")
	rounds := flag.Int("rounds", 1, "how often to measure, every other time in the reverse order")
	control := flag.Bool("control", true, "measure the plain program, too")
	flag.Parse()
	dir, err := os.MkdirTemp("", "replayd-bench-live")
	check(err)
	defer os.RemoveAll(dir) //nolint:errcheck // the directory is temporary
	daemon := *program
	if daemon == "" {
		daemon = filepath.Join(dir, "replayd")
		build := exec.Command("go", "build", "-o", daemon, "./cmd/replayd")
		build.Stderr = os.Stderr
		check(build.Run())
	}
	fmt.Println("| files | followers | of | p50 ms | p99 ms | longest ms | ticks missing | its CPU % | writer's CPU % | followers' CPU % | all CPUs busy % | writer late, p99 ms |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, f := range numbers(*files) {
		for _, n := range numbers(*followers) {
			s := settings{Files: f, Followers: n, Ticks: warmUp + *seconds*int(time.Second/every), State: *state, All: *all, Broken: *broken}
			if *columns != "" {
				s.Columns = strings.Split(*columns, ",")
			}
			of := []settings{s}
			if *facts {
				with := s
				with.Facts = true
				of = append(of, with)
			}
			if s.Plain = true; *control && *state == 0 && !*all {
				of = append(of, s)
			}
			for range *rounds {
				for _, s := range of {
					measure(dir, daemon, s)
				}
				slices.Reverse(of)
			}
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func numbers(list string) (all []int) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		check(err)
		all = append(all, n)
	}
	return all
}

// part is a process of a measurement.
type part struct {
	*exec.Cmd

	in  io.WriteCloser
	out *bufio.Reader
}

func start(cmd *exec.Cmd) *part {
	in, err := cmd.StdinPipe()
	check(err)
	out, err := cmd.StdoutPipe()
	check(err)
	cmd.Stderr = os.Stderr
	check(cmd.Start())
	return &part{cmd, in, bufio.NewReader(out)}
}

func (p *part) end() {
	_ = p.in.Close()
	_ = p.Process.Kill()
	_ = p.Wait()
}

// line reads the next line that a process prints, as JSON.
func (p *part) line(v any) {
	line, err := p.out.ReadBytes('\n')
	check(err)
	check(json.Unmarshal(line, v))
}

func role(name string, s settings) *part {
	program, err := os.Executable()
	check(err)
	text, err := json.Marshal(s)
	check(err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "REPLAYD_BENCH_LIVE="+name, "REPLAYD_BENCH_LIVE_SETTINGS="+string(text))
	return start(cmd)
}

// measure prints a line of the table.
func measure(dir, program string, s settings) {
	var err error
	s.Dir, err = os.MkdirTemp(dir, "files")
	check(err)
	defer os.RemoveAll(s.Dir) //nolint:errcheck // the directory is temporary
	s.Addr = freeAddr()
	newTimes(s)
	writer := role("write", s)
	defer writer.end()
	var ready bool
	writer.line(&ready) // once the files exist
	var served *part
	if s.State > 0 {
		s.Plain = false
	}
	if s.Plain {
		served = role("plain", s)
	} else {
		cmd := exec.Command(program, "serve", "--listen", s.Addr, "--root", "live="+s.Dir, "--log-level", "error", "--max-streams", "4096")
		served = start(cmd)
	}
	defer served.end()
	followers := role("follow", s)
	defer followers.end()
	followers.line(&ready)
	_, err = io.WriteString(writer.in, "go\n")
	check(err)
	time.Sleep(warmUp * every)
	parts := []*part{served, writer, followers}
	var used []time.Duration
	for _, p := range parts {
		used = append(used, cpu(p.Process.Pid))
	}
	busy, began := busyCPUs(), time.Now()
	time.Sleep(time.Duration(s.Ticks-warmUp) * every)
	took := time.Since(began)
	share := func(d time.Duration) float64 { return 100 * float64(d) / float64(took) }
	var shares []float64
	for i, p := range parts {
		shares = append(shares, share(cpu(p.Process.Pid)-used[i]))
	}
	all := share(busyCPUs() - busy)
	var written, got spread
	writer.line(&written)
	time.Sleep(onTheWay)
	_, err = io.WriteString(followers.in, "stop\n")
	check(err)
	followers.line(&got)
	what := "replayd"
	measured := s.Ticks - warmUp
	switch {
	case s.Plain:
		what = "plain"
	case s.Facts:
		what = "replayd, with facts"
	case s.State > 0:
		measured *= s.Files
		what = fmt.Sprint("states every ", s.State, " ", strings.Join(s.Columns, ","))
	case s.All:
		measured *= s.Files
		what = fmt.Sprintf("all in one call, %d broken beside", s.Broken)
	}
	fmt.Printf("| %d | %d | %s | %.1f | %.1f | %.1f | %.2f %% | %.1f | %.0f | %.0f | %.0f | %.1f |\n", s.Files, s.Followers, what, got.P50, got.P99, got.Longest,
		100-100*float64(got.Count)/float64(measured*s.Followers), shares[0], shares[1], shares[2], all, written.P99)
}

func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer l.Close() //nolint:errcheck // it only finds a free port
	return l.Addr().String()
}

// cpu returns the CPU time that the threads of a process have used.
func cpu(pid int) (sum time.Duration) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	check(err)
	for _, path := range threads {
		if text, err := os.ReadFile(path); err == nil { // it has not ended meanwhile
			used, _, _ := strings.Cut(string(text), " ")
			n, _ := strconv.ParseInt(used, 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}

// busyCPUs returns the time for which all processors together were busy.
func busyCPUs() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	check(err)
	line, _, _ := strings.Cut(string(text), "\n")
	var sum int
	for i, f := range strings.Fields(line)[1:9] {
		if n, _ := strconv.Atoi(f); i != 3 && i != 4 { // idle and I/O wait
			sum += n
		}
	}
	return time.Duration(sum) * 10 * time.Millisecond
}
