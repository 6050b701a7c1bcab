package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// What the workloads on data work on.
const (
	sortedInts  = 200_000
	records     = 100_000
	wideRecords = 80_000 // records of the JSON document of about 10 MB
	listedFiles = 10_000
	treeDirs    = 100
	treeFiles   = 200 // in each of the directories, half of them *.txt
	textBytes   = 10 << 20
	bigBytes    = 100 << 20
)

// data is the directory with the files that the workloads read, made once. The
// same numbers come each time.
func (b *bench) data() (string, error) {
	dir := filepath.Join(b.root, "data")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	for _, sub := range []string{"many", "tree"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	for name, write := range map[string]func(*bufio.Writer, *rand.Rand){
		"ints.txt": writeInts, "rows.json": writeRows, "wide.json": writeWide, "rows.csv": writeCSV,
		"text.txt": writeText(textBytes), "big.txt": writeText(bigBytes),
	} {
		if err := writeFile(filepath.Join(dir, name), func(w *bufio.Writer) { write(w, numbers()) }); err != nil {
			return "", err
		}
	}
	if err := writeMany(filepath.Join(dir, "many")); err != nil {
		return "", err
	}
	return dir, writeTree(filepath.Join(dir, "tree"))
}

// numbers gives the same numbers each time.
func numbers() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func writeFile(name string, write func(*bufio.Writer)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	write(w)
	return w.Flush()
}

func writeInts(w *bufio.Writer, r *rand.Rand) {
	for range sortedInts {
		fmt.Fprintln(w, r.IntN(1_000_000_000))
	}
}

// someCities are the values that group records.
const someCities = 50

func writeRows(w *bufio.Writer, r *rand.Rand) {
	separator := "["
	for i := range records {
		fmt.Fprintf(w, `%s{"id":%d,"name":"name %d","age":%d,"score":%.2f,"city":"city %d"}`,
			separator, i, r.IntN(1_000_000), r.IntN(100), 100*r.Float64(), r.IntN(someCities))
		separator = ",\n"
	}
	w.WriteString("]\n")
}

func writeWide(w *bufio.Writer, r *rand.Rand) {
	separator := "["
	for i := range wideRecords {
		fmt.Fprintf(w, `%s{"id":%d,"name":"user number %d","age":%d,"score":%.3f,"city":"city %d","tags":["a%d","b%d"],"active":%t,"note":"some words"}`,
			separator, i, r.IntN(1_000_000), r.IntN(100), 100*r.Float64(), r.IntN(someCities), r.IntN(10), r.IntN(10), r.IntN(2) == 0)
		separator = ",\n"
	}
	w.WriteString("]\n")
}

func writeCSV(w *bufio.Writer, r *rand.Rand) {
	w.WriteString("id,name,age,score,city\n")
	for i := range records {
		fmt.Fprintf(w, "%d,name %d,%d,%.2f,city %d\n", i, r.IntN(1_000_000), r.IntN(100), 100*r.Float64(), r.IntN(someCities))
	}
}

// writeText writes lines of twelve words and numbers.
func writeText(size int) func(*bufio.Writer, *rand.Rand) {
	words := []string{"lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit"}
	return func(w *bufio.Writer, r *rand.Rand) {
		for n := 0; n < size; {
			for i := range 12 {
				word := words[r.IntN(len(words))]
				if i%4 == 3 {
					word = strconv.Itoa(r.IntN(100_000))
				}
				if i > 0 {
					word = " " + word
				}
				n += len(word)
				w.WriteString(word)
			}
			n++
			w.WriteByte('\n')
		}
	}
}

// writeMany makes files whose sizes differ, and some directories among them.
func writeMany(dir string) error {
	sizes := numbers().Perm(listedFiles)
	for i, size := range sizes {
		name := filepath.Join(dir, fmt.Sprintf("file%05d.dat", i))
		if i%20 == 0 {
			if err := os.Mkdir(name, 0o755); err != nil {
				return err
			}
			continue
		}
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		err = f.Truncate(int64(size))
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func writeTree(dir string) error {
	for d := range treeDirs {
		sub := filepath.Join(dir, fmt.Sprintf("d%d", d%10), fmt.Sprintf("e%d", d))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return err
		}
		for f := range treeFiles {
			name := fmt.Sprintf("f%d.%s", f, []string{"txt", "bin"}[f%2])
			if err := os.WriteFile(filepath.Join(sub, name), nil, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
