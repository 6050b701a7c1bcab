package main

// workload is one computation in several languages. All give the same answer.
// Shoal's runs in a warm kernel, so the start of the others is counted out.
type workload struct {
	key, what string
	setup     string // run once in the kernel
	shoal     string
	want      string
	peers     []peerSource
	most      float64 // of our processor time to the best peer's; 0: no target
}

// peerSource is a workload as one peer is told to do it.
type peerSource struct {
	program string
	source  string
	name    string   // how the table calls it, the program's name if empty
	ends    string   // what its output ends with, the workload's answer if empty
	files   []string // arguments after the source
}

// The targets, as our processor time beside the best peer's.
const (
	twentyTimes = 1.0 / 20
	tenTimes    = 1.0 / 10
	fiveTimes   = 1.0 / 5
	threeTimes  = 1.0 / 3
	faster      = 1.0
	level       = 1.1 // less than two runs of the same differ by
)

// languageRows compare what programs cost with what they cost elsewhere.
func (b *bench) languageRows() []row {
	var rows []row
	for _, w := range append(computations(), dataWorkloads()...) {
		rows = append(rows, row{
			key: "lang." + w.key, what: w.what, unit: millis, most: w.most,
			ours: b.shoalCost(w), rivals: b.rivalsOf(w),
		})
	}
	return append(append(rows, compileRows()...), b.growthRow())
}

// shoalCost measures a workload on the warm kernel.
func (b *bench) shoalCost(w workload) probe {
	ready := w.setup == ""
	return func() (float64, error) {
		if _, err := b.data(); err != nil {
			return 0, err
		}
		if !ready {
			if _, err := b.evaluate(w.setup, ""); err != nil {
				return 0, err
			}
			ready = true
		}
		return b.evaluateCost(w.shoal, w.want)
	}
}

const fibShoal = "fn fib(n) { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\nfib(25)"

// computations need no data.
func computations() []workload {
	return []workload{
		{
			key: "fib", what: "fib(25), recursive, beside shells", want: "75025", most: twentyTimes, shoal: fibShoal,
			peers: []peerSource{
				{program: "dash", source: `fib() { if [ $1 -lt 2 ]; then r=$1; else fib $(($1 - 1)); set -- $1 $r; fib $(($1 - 2)); r=$(($2 + r)); fi; }; fib 25; echo $r`},
				{program: "nu", source: `def fib [n: int] { if $n < 2 { $n } else { (fib ($n - 1)) + (fib ($n - 2)) } }; fib 25`},
				{program: "bash", source: `fib() { if (($1 < 2)); then r=$1; else fib $(($1 - 1)); local a=$r; fib $(($1 - 2)); r=$((a + r)); fi; }; fib 25; echo $r`},
				{program: "elvish", source: `fn fib {|n| if (< $n 2) { put $n } else { + (fib (- $n 1)) (fib (- $n 2)) } }; echo (fib 25)`},
			},
		},
		{
			key: "fib.python", what: "fib(25), recursive", want: "75025", most: level, shoal: fibShoal,
			peers: []peerSource{
				{program: "python3", source: "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(25))"},
			},
		},
		{
			key: "loop", what: "loop over 1..1,000,000", want: "500000500000", most: twentyTimes,
			shoal: "var s = 0\nfor i in 1..=1000000 { s += i }\ns",
			peers: []peerSource{
				{program: "nu", source: `mut s = 0; for i in 1..1000000 { $s += $i }; $s`},
				{program: "dash", source: `s=0 i=1; while [ $i -le 1000000 ]; do s=$((s + i)) i=$((i + 1)); done; echo $s`},
				{program: "bash", source: `s=0; for ((i = 1; i <= 1000000; i++)); do ((s += i)); done; echo $s`},
				{program: "elvish", source: `var s = 0; range 1 1000001 | each {|i| set s = (+ $s $i) }; echo $s`},
			},
		},
		{
			key: "closure", what: "map, filter, sum of 300,000 by closures", want: "29999700000", most: tenTimes,
			shoal: "(0..300000).map(x => x * 2).where(x => x % 3 == 0).sum()",
			peers: []peerSource{
				{program: "nu", source: `0..299999 | each {|x| $x * 2 } | where {|x| $x mod 3 == 0 } | math sum`},
				{program: "dash", source: `double() { r=$(($1 * 2)); }; keep() { [ $(($1 % 3)) -eq 0 ]; }; s=0 i=0
while [ $i -lt 300000 ]; do double $i; if keep $r; then s=$((s + r)); fi; i=$((i + 1)); done; echo $s`},
				{program: "bash", source: `double() { r=$(($1 * 2)); }; keep() { (($1 % 3 == 0)); }; s=0
for ((i = 0; i < 300000; i++)); do double $i; if keep $r; then ((s += r)); fi; done; echo $s`},
				{program: "elvish", source: `var s = (num 0); range 300000 | each {|x| * $x 2 } | each {|x| if (== (% $x 3) 0) { put $x } } | each {|x| set s = (+ $s $x) }; echo $s`},
			},
		},
		{
			key: "strings", what: "100,000 strings interpolated and joined", want: "1088889", most: fiveTimes,
			shoal: `(0..100000).map(i => "item-{i}").join(",").len()`,
			peers: []peerSource{
				{program: "bash", name: "bash, one printf", source: `printf -v a 'item-%d,' {0..99999}; a=${a%,}; echo ${#a}`},
				{program: "bash", source: `for ((i = 0; i < 100000; i++)); do a+="item-$i,"; done; a=${a%,}; echo ${#a}`},
				{program: "dash", source: `i=0; while [ $i -lt 100000 ]; do echo "item-$i"; i=$((i + 1)); done | paste -sd, | tr -d '\n' | wc -c`},
				{program: "nu", source: `0..99999 | each {|i| $"item-($i)" } | str join "," | str length`},
				{program: "elvish", source: `use str; echo (count (range 100000 | each {|i| put "item-"$i } | str:join ,))`},
			},
		},
	}
}
