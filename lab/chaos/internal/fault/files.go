package fault

import (
	"os"
	"slices"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
)

// What happens to files.
var files = []Fault{
	{
		Name:   "truncate",
		Does:   "the state file is cut short; then the store is removed and created anew, not as one for a new secret",
		Expect: "nothing is granted or renewed from the damaged file; the new store grants only what starts when all lost leases have ended",
		Stores: []string{File},
		Script: truncate,
		May:    slices.Concat(forgiven, []page.Kind{page.Corrupt, page.NoStore}),
		Shows:  []journal.Outcome{journal.Corrupt},
	},
	{
		Name:   "bitflip",
		Does:   "a bit of the state file flips, and later flips back",
		Expect: "nothing is granted or renewed from the damaged file; IDs go on when it is whole again",
		Stores: []string{File},
		Script: bitflip,
		May:    []page.Kind{page.Ended, page.Corrupt},
		Shows:  []journal.Outcome{journal.Corrupt},
	},
	{
		Name:   "delete",
		Does:   "the store's directory is removed; then the store is created anew, not as one for a new secret",
		Expect: "no worker makes a store by itself; the new one grants only what starts when all lost leases have ended",
		Stores: []string{File},
		Script: remove,
		May:    slices.Concat(forgiven, []page.Kind{page.NoStore}),
		Shows:  []journal.Outcome{journal.NoStore},
	},
	{
		Name:   "hard-linked-backup",
		Does:   "the directory is removed, and an older copy of hard links (cp -al) gets its name; new workers find it, and then those that run; and once more when none runs",
		Expect: "nothing starts before all lost leases have ended",
		Stores: []string{File},
		Script: hardLinkedBackup,
		May:    forgiven,
		Shows:  []journal.Outcome{journal.Lost},
	},
	{
		Name:   "disk-full",
		Does:   "the disk is full, for longer than a lease",
		Expect: "IDs go on to the end of the leases, and when there is space again",
		Stores: []string{File},
		Script: diskFull,
		May:    cutOff,
		Start:  engine.StartFileOnSmallDisk,
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "fsync-fail",
		Does:   "fsync fails in one worker from some moment on",
		Expect: "it ends with its lease; the others notice nothing; started anew, on a good disk, it goes on",
		Stores: []string{File},
		Script: fsyncFail,
		May:    cutOff,
		Shows:  []journal.Outcome{journal.Unknown},
	},
}

func truncate(w *simulation.Simulation) {
	file := w.Engine.(*engine.File)
	workers := w.Start(3)
	w.LoseData(func() {
		w.Must(file.Locked(func() error {
			newest, err := file.Newest()
			if err != nil {
				return err
			}
			whole, err := os.Stat(newest)
			if err != nil {
				return err
			}
			return os.Truncate(newest, int64(w.Int(0, int(whole.Size())-1)))
		}))
		workers = refusedUntil(w, workers, page.Corrupt, file.CreateAnew)
	})
	w.Recover(workers...)
}

func bitflip(w *simulation.Simulation) {
	file := w.Engine.(*engine.File)
	workers := w.Start(3)
	var newest string
	bit := 0
	w.Must(file.Locked(func() (err error) {
		if newest, err = file.Newest(); err != nil {
			return err
		}
		info, err := os.Stat(newest)
		if err != nil {
			return err
		}
		bit = w.Int(0, 8*int(info.Size())-1)
		return flip(newest, bit)
	}))
	workers = refusedUntil(w, workers, page.Corrupt, func() error { return flip(newest, bit) })
	w.Recover(workers...)
}

// flip turns a bit of a file over.
func flip(path string, bit int) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[bit/8] ^= 1 << (bit % 8)
	return os.WriteFile(path, content, 0o600)
}

func remove(w *simulation.Simulation) {
	file := w.Engine.(*engine.File)
	workers := w.Start(3)
	w.LoseData(func() {
		w.Must(file.Locked(func() error { return os.RemoveAll(file.Dir) }))
		workers = refusedUntil(w, workers, page.NoStore, file.CreateAnew)
	})
	w.Recover(workers...)
}

func hardLinkedBackup(w *simulation.Simulation) {
	file := w.Engine.(*engine.File)
	oldCopy(w, file.Link, file.RestoreLinks, newFirst)
	w.CloseAll()
	w.Must(file.Link())
	lost := w.Start(2)
	w.Recover(lost...)
	w.LoseData(func() {
		for _, p := range lost {
			p.Kill()
		}
		w.Must(file.RestoreLinks())
	})
	others := w.Launch(2)
	wantFloor(w)
	w.Recover(others...)
}

// refusedUntil waits until the workers' leases have ended, and a new worker is refused with kind; then it has
// mend put the store right, and returns all workers.
func refusedUntil(w *simulation.Simulation, workers []*simulation.Process, kind page.Kind, mend func() error) []*simulation.Process {
	w.Refuse(workers, page.Ended)
	late := w.Launch(1)
	w.Refuse(late, kind)
	w.Must(mend())
	return append(workers, late...)
}

func diskFull(w *simulation.Simulation) {
	file := w.Engine.(*engine.File)
	workers := w.Start(3)
	w.Must(file.Locked(file.FillDisk))
	workers = refusedUntil(w, workers, page.Unreachable, file.FreeDisk)
	w.Recover(workers...)
}

func fsyncFail(w *simulation.Simulation) {
	victim, others := w.Choose(w.Start(3))
	w.During(others, func() {
		victim.FailSyncs()
		w.Refuse([]*simulation.Process{victim}, page.Ended)
		w.Recover(victim.Restart())
	})
}
