// Requests at a rate, whatever becomes of them: the load of the overload benchmark.
//
// Each request is due at a time of its own, or with so many others (-burst), and is sent then on a connection on which
// nothing is under way.  Where there is none it is not sent, and counted: a client with so many connections has no more
// to give.  Latency counts from the time at which a request was due to the last byte of its answer.  What was answered
// with 503 is told apart.
//
// One thread and one epoll set, since the endpoint behind the proxy shares the core with it.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const (
	readBytes   = 64 * 1024
	lastAnswers = 5 * time.Second
)

type result struct {
	due     time.Duration
	latency time.Duration
	status  int
}

type connection struct {
	fd    int
	due   time.Duration
	waits bool
	rest  []byte // of an answer that did not come in one piece
}

type load struct {
	address syscall.SockaddrInet4
	request []byte
	began   time.Time
	epoll   int
	timer   int           // is ready when the next request is due; without a pause
	pause   time.Duration // between two looks at what has come; 0 to look as soon as something has
	burst   int
	all     map[int32]*connection
	idle    []*connection // a ring: who was idle for longest is next
	first   int
	count   int
	failed  int
	results []result
	buffer  []byte
}

func check(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func (l *load) connect() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := syscall.Connect(fd, &l.address); err != nil {
		syscall.Close(fd)
		return err
	}
	check(syscall.SetNonblock(fd, true), "fcntl")
	check(syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1), "setsockopt")
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	check(syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, fd, &event), "epoll_ctl")
	made := &connection{fd: fd}
	l.all[int32(fd)] = made
	l.rest(made)
	return nil
}

func (l *load) rest(on *connection) {
	on.waits = false
	l.idle[(l.first+l.count)%len(l.idle)] = on
	l.count++
}

func (l *load) send(due time.Duration) bool {
	for l.count > 0 {
		on := l.idle[l.first]
		l.first = (l.first + 1) % len(l.idle)
		l.count--
		if l.all[int32(on.fd)] != on {
			continue // It ended while it was idle.
		}
		if _, err := syscall.Write(on.fd, l.request); err != nil {
			l.renew(on)
			continue
		}
		on.due, on.waits = due, true
		return true
	}
	return false
}

// renew replaces a connection that has ended.
func (l *load) renew(on *connection) {
	if on.waits {
		l.failed++
	}
	delete(l.all, int32(on.fd))
	syscall.Close(on.fd)
	if err := l.connect(); err != nil {
		l.failed++
	}
}

func (l *load) read(on *connection) {
	count, err := syscall.Read(on.fd, l.buffer)
	if err == syscall.EAGAIN {
		return
	}
	if err != nil || count == 0 || !on.waits {
		l.renew(on)
		return
	}
	answer := l.buffer[:count]
	if len(on.rest) > 0 {
		on.rest = append(on.rest, answer...)
		answer = on.rest
	}
	status, keeps, size, err := parse(answer)
	if err != nil || size > 0 && len(answer) > size {
		l.renew(on)
		return
	}
	if size == 0 || len(answer) < size {
		if len(on.rest) == 0 {
			on.rest = bytes.Clone(answer)
		}
		return
	}
	on.rest = nil
	l.results = append(l.results, result{on.due, time.Since(l.began) - on.due, status})
	on.waits = false
	if keeps {
		l.rest(on)
	} else {
		l.renew(on)
	}
}

var (
	lengthField  = []byte("\r\nContent-Length:")
	closeField   = []byte("\r\nConnection: close")
	chunkedField = []byte("\r\nTransfer-Encoding: chunked")
	lastChunk    = []byte("\r\n0\r\n\r\n")
)

// parse finds out how long an answer is; size 0 is not known yet.
func parse(answer []byte) (status int, keeps bool, size int, err error) {
	end := bytes.Index(answer, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, false, 0, nil
	}
	head := answer[:end]
	if status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return 0, false, 0, err
	}
	keeps = !bytes.Contains(head, closeField) && !bytes.Contains(head, []byte("\r\nconnection: close"))
	if bytes.Contains(head, chunkedField) || bytes.Contains(head, []byte("\r\ntransfer-encoding: chunked")) {
		if bytes.HasSuffix(answer, lastChunk) {
			return status, keeps, len(answer), nil
		}
		return status, keeps, 0, nil
	}
	at := bytes.Index(head, lengthField)
	if at < 0 {
		at = bytes.Index(head, []byte("\r\ncontent-length:"))
	}
	if at < 0 {
		return 0, false, 0, fmt.Errorf("an answer without its length")
	}
	value, _, _ := bytes.Cut(head[at+len(lengthField):], []byte("\r\n"))
	length, err := strconv.Atoi(string(bytes.TrimSpace(value)))
	return status, keeps, end + 4 + length, err
}

// percentile returns milliseconds.
func percentile(latencies []time.Duration, share float64) float64 {
	if len(latencies) == 0 {
		return 0
	}
	slices.Sort(latencies)
	at := min(int(float64(len(latencies))*share), len(latencies)-1)
	return float64(latencies[at]) / float64(time.Millisecond)
}

type summary struct {
	Seconds        float64 `json:"seconds"`
	Due            int     `json:"due"`
	Sent           int     `json:"sent"`
	Accepted       int     `json:"accepted"`
	Refused        int     `json:"refused"`
	Others         int     `json:"others"`
	Failed         int     `json:"failed"`
	Goodput        float64 `json:"goodput"`
	P50            float64 `json:"p50_ms"`
	P99            float64 `json:"p99_ms"`
	P999           float64 `json:"p999_ms"`
	Longest        float64 `json:"longest_ms"`
	EachP99        float64 `json:"median_p99_ms"` // of the p99 of each second, the median: what befell the machine for a moment is not in it
	First          float64 `json:"first_p50_ms"`  // of all bursts, the median of their first answers, and of their last
	Last           float64 `json:"last_p50_ms"`
	SettledGoodput float64 `json:"settled_goodput"`
	SettledP50     float64 `json:"settled_p50_ms"`
	SettledP99     float64 `json:"settled_p99_ms"`
	RefusedP50     float64 `json:"refused_p50_ms"`
	RefusedP99     float64 `json:"refused_p99_ms"`
	EachSecond     []int   `json:"accepted_each_second"`
}

func (l *load) summary(seconds, settled float64, due, sent int) summary {
	found := summary{Seconds: seconds, Due: due, Sent: sent, Failed: l.failed}
	found.EachSecond = make([]int, int(seconds)+1)
	var all, later, refused []time.Duration
	inTime, inTimeLater := 0, 0
	for _, one := range l.results {
		switch one.status {
		case 200:
			all = append(all, one.latency)
			if one.due.Seconds() >= settled {
				later = append(later, one.latency)
			}
			if done := (one.due + one.latency).Seconds(); done <= seconds {
				inTime++
				found.EachSecond[int(done)]++
				if done >= settled {
					inTimeLater++
				}
			}
		case 503:
			refused = append(refused, one.latency)
		default:
			found.Others++
		}
	}
	found.Accepted, found.Refused = len(all), len(refused)
	found.Goodput = float64(inTime) / seconds
	found.SettledGoodput = float64(inTimeLater) / (seconds - settled)
	found.P50, found.P99 = percentile(all, 0.5), percentile(all, 0.99)
	found.P999, found.Longest = percentile(all, 0.999), percentile(all, 1)
	found.EachP99 = l.medianP99(seconds)
	first, last := l.bursts()
	found.First, found.Last = percentile(first, 0.5), percentile(last, 0.5)
	found.SettledP50, found.SettledP99 = percentile(later, 0.5), percentile(later, 0.99)
	found.RefusedP50, found.RefusedP99 = percentile(refused, 0.5), percentile(refused, 0.99)
	return found
}

// medianP99 returns the median of the p99 of what was due in each whole second, in milliseconds.
func (l *load) medianP99(seconds float64) float64 {
	each := make([][]time.Duration, int(seconds))
	for _, one := range l.results {
		if second := int(one.due.Seconds()); one.status == 200 && second < len(each) {
			each[second] = append(each[second], one.latency)
		}
	}
	var found []float64
	for _, latencies := range each {
		found = append(found, percentile(latencies, 0.99))
	}
	if len(found) == 0 {
		return 0
	}
	slices.Sort(found)
	return found[len(found)/2]
}

// bursts returns the latencies of the first and of the last answer to each burst.
func (l *load) bursts() (first, last []time.Duration) {
	of := make(map[time.Duration]int)
	for _, one := range l.results {
		if one.status != 200 {
			continue
		}
		at, isKnown := of[one.due]
		if !isKnown {
			of[one.due] = len(first)
			first, last = append(first, one.latency), append(last, one.latency)
			continue
		}
		first[at], last[at] = min(first[at], one.latency), max(last[at], one.latency)
	}
	return first, last
}

// listen reads what has come; it waits up to wait milliseconds for the first of it.
func (l *load) listen(wait int) {
	events := make([]syscall.EpollEvent, 512)
	for {
		count, err := syscall.EpollWait(l.epoll, events, wait)
		if err != nil && err != syscall.EINTR {
			check(err, "epoll_wait")
		}
		for _, event := range events[:max(count, 0)] {
			if on := l.all[event.Fd]; on != nil {
				l.read(on)
			}
		}
		if count < len(events) {
			return
		}
		wait = 0
	}
}

// await returns after the pause, or, without one, when an answer has come or the time until is there.
func (l *load) await(until time.Duration) {
	if l.pause > 0 {
		rest := syscall.NsecToTimespec(int64(l.pause))
		syscall.Nanosleep(&rest, nil)
		l.listen(0)
		return
	}
	left := until - time.Since(l.began)
	if left <= 0 {
		l.listen(0)
		return
	}
	// Setting it anew takes back that it was ready.  Sleeping in milliseconds would be too coarse.
	value := [4]int64{0, 0, int64(left / time.Second), int64(left % time.Second)}
	_, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(l.timer), 0, uintptr(unsafe.Pointer(&value)), 0, 0, 0)
	if errno != 0 {
		check(errno, "timerfd_settime")
	}
	l.listen(-1)
}

// dueAt returns when a request is due, counted from the beginning.
func (l *load) dueAt(number int, rate float64) time.Duration {
	return time.Duration(float64(number-number%l.burst) / rate * float64(time.Second))
}

func main() {
	address := flag.String("address", "", "where to connect to: an address of IPv4, and a port")
	host := flag.String("host", "", "the host that is asked")
	path := flag.String("path", "/", "what is asked for")
	rate := flag.Float64("rate", 1000, "requests a second")
	seconds := flag.Float64("seconds", 10, "for so long")
	settled := flag.Float64("settled", 2, "what is due after so many seconds is told by itself, too")
	connections := flag.Int("connections", 100, "so many connections")
	burst := flag.Int("burst", 1, "so many requests are due at the same time")
	pause := flag.Duration("pause", 150*time.Microsecond, "between two looks at what has come, which spares the core; 0 to look at once")
	flag.Parse()
	to, err := net.ResolveTCPAddr("tcp4", *address)
	check(err, "-address")
	debug.SetGCPercent(-1)

	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: openloop\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n", *path, *host)
	l := &load{request: []byte(request), all: make(map[int32]*connection), buffer: make([]byte, readBytes), pause: *pause, burst: *burst}
	l.address.Port = to.Port
	copy(l.address.Addr[:], to.IP.To4())
	l.idle = make([]*connection, 2**connections)
	l.results = make([]result, 0, 1<<22)
	l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	check(err, "epoll_create")
	const monotonic = 1
	timer, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		check(errno, "timerfd_create")
	}
	l.timer = int(timer)
	ready := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(timer)}
	check(syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, l.timer, &ready), "epoll_ctl")
	for range *connections {
		check(l.connect(), "connect")
	}
	time.Sleep(time.Second)

	l.began = time.Now()
	due, sent := 0, 0
	for time.Since(l.began).Seconds() < *seconds {
		for ; l.dueAt(due, *rate) <= time.Since(l.began); due++ {
			// Not when it is sent: this program may be late, too.
			if l.send(l.dueAt(due, *rate)) {
				sent++
			} else {
				// Nor is any other one that is due by now.
				due = (int(time.Since(l.began).Seconds()**rate)/l.burst+1)*l.burst - 1
			}
		}
		l.await(l.dueAt(due, *rate))
	}
	for until := time.Now().Add(lastAnswers); time.Now().Before(until) && len(l.results)+l.failed < sent; {
		l.await(time.Since(l.began) + time.Millisecond)
	}
	if err := json.NewEncoder(os.Stdout).Encode(l.summary(*seconds, *settled, due, sent)); err != nil {
		check(err, "standard output")
	}
}
