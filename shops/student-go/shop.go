// A student's shop for tickets, without a database: each free seat is a file. Its three ways to sell stand one below the other.
//
// Usage: go run shop.go PORT FOLDER [wrong|lock|cured]      several processes may share the folder
//
//	POST /shows {"seats": 50}         ->  201 {"show": "6f1c..."}
//	POST /orders {"show": "6f1c..."}  ->  201 {"order": "03d9...", "seat": "17"}, or 409 {"error": "sold out"}
//	GET /                             ->  200 "shop.go wrong"
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

type reply map[string]string

var soldOut = reply{"error": "sold out"}

// It finds a free seat, writes the order, and removes the seat. Between these steps another customer can find the same seat.
func wrong(free, sold string) (reply, error) {
	seats, err := os.ReadDir(free)
	if err != nil || len(seats) == 0 {
		return soldOut, err
	}
	askBank()
	order, seat := newName(), seats[0].Name()
	if err := os.WriteFile(filepath.Join(sold, order+"."+seat), nil, 0o666); err != nil {
		return nil, err
	}
	os.Remove(filepath.Join(free, seat)) // fails if another sale of this seat was faster
	return reply{"order": order, "seat": seat}, nil
}

// The same, one sale after the other. A second process has a lock of its own.
var door sync.Mutex

func lock(free, sold string) (reply, error) {
	door.Lock()
	defer door.Unlock()
	return wrong(free, sold)
}

// One step takes the seat and makes the order, because only one rename of a file succeeds.
func cured(free, sold string) (reply, error) {
	askBank()
	order := newName()
	seats, err := os.ReadDir(free)
	for _, seat := range seats {
		err := os.Rename(filepath.Join(free, seat.Name()), filepath.Join(sold, order+"."+seat.Name()))
		if err == nil {
			return reply{"order": order, "seat": seat.Name()}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) { // else another customer has this seat
			return nil, err
		}
	}
	return soldOut, err
}

// The bank says that the card is good. Its service takes about 50 ms.
func askBank() { time.Sleep(50 * time.Millisecond) }

func newName() string {
	bytes := make([]byte, 16)
	rand.Read(bytes)
	return fmt.Sprintf("%x", bytes)
}

func create(data string, seats int) (reply, error) {
	show := newName()
	free := filepath.Join(data, show, "free")
	if err := os.MkdirAll(free, 0o777); err != nil {
		return nil, err
	}
	for seat := 1; seat <= seats; seat++ {
		if err := os.WriteFile(filepath.Join(free, strconv.Itoa(seat)), nil, 0o666); err != nil {
			return nil, err
		}
	}
	return reply{"show": show}, os.Mkdir(filepath.Join(data, show, "sold"), 0o777)
}

type request struct {
	Seats int
	Show  string
}

// Answers the requests of one path by what `act` does.
func serve(path string, act func(request) (reply, error)) {
	http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		var wanted request
		said, status := reply(nil), http.StatusCreated
		err := json.NewDecoder(r.Body).Decode(&wanted)
		if err == nil {
			said, err = act(wanted)
		}
		if err != nil {
			log.Print(err)
			said, status = reply{"error": "the shop failed"}, http.StatusInternalServerError
		} else if said["error"] != "" {
			status = http.StatusConflict
		}
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(said)
	})
}

func main() {
	port, data, way := os.Args[1], os.Args[2], append(os.Args, "wrong")[3]
	sell := map[string]func(free, sold string) (reply, error){"wrong": wrong, "lock": lock, "cured": cured}[way]
	if sell == nil {
		log.Fatalf("shop.go sells in the ways wrong, lock and cured, not %q", way)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "shop.go %s", way) })
	serve("/shows", func(wanted request) (reply, error) { return create(data, wanted.Seats) })
	serve("/orders", func(wanted request) (reply, error) {
		show := filepath.Join(data, filepath.Base(wanted.Show))
		return sell(filepath.Join(show, "free"), filepath.Join(show, "sold"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
