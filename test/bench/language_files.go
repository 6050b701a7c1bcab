package main

// The programs of several rows.
const (
	projectShoal = `json.parse(path("data/wide.json").read).where(.age > 60).map({id: .id, name: .name}).json().len()`
	listShoal    = `(ls data/many).where(.type == "file").sort_by(.size).reverse().take(10).map(.size / 1b).map(.str()).join(" ")`
	loadRows     = `let rows = json.parse(path("data/rows.json").read)`
)

var (
	sortByPeers = []peerSource{
		{program: "python3", source: "import json\nprint(sorted(json.load(open('rows.json')), key=lambda r: r['age'])[50000]['id'])"},
		{program: "node", source: `const rows = JSON.parse(require('fs').readFileSync('rows.json', 'utf8')); rows.sort((a, b) => a.age - b.age); console.log(rows[50000].id)`},
		{program: "jq", source: `input | sort_by(.age)[50000].id`, files: []string{"rows.json"}},
		{program: "nu", source: `open rows.json | sort-by age | get 50000 | get id`},
		{program: "elvish", source: `var rows = [(all (from-json < rows.json) | order &key={|r| put $r[age] })]; echo (printf '%.0f' $rows[50000][id])`},
	}
	groupByPeers = []peerSource{
		{program: "python3", source: "import json\ng = {}\nfor r in json.load(open('rows.json')): g.setdefault(r['city'], []).append(r)\nprint(max(map(len, g.values())))"},
		{program: "node", source: `const g = new Map(); for (const r of JSON.parse(require('fs').readFileSync('rows.json', 'utf8'))) { const k = g.get(r.city); if (k) k.push(r); else g.set(r.city, [r]) }
console.log(Math.max(...[...g.values()].map(k => k.length)))`},
		{program: "jq", source: `input | group_by(.city) | map(length) | max`, files: []string{"rows.json"}},
		{program: "nu", source: `open rows.json | group-by city --to-table | get items | each { length } | math max`},
	}
)

// dataWorkloads work on the files of the data directory, and on what they hold.
func dataWorkloads() []workload {
	return append(append(recordWorkloads(), textWorkloads()...), fileWorkloads()...)
}

func recordWorkloads() []workload {
	return []workload{
		{
			key: "sort", what: "sort 200,000 ints (the peers load them)", want: sortWant, most: threeTimes,
			setup: `let ints = path("data/ints.txt").lines.map(.parse_int())`,
			shoal: "ints.sort().get(100000)",
			peers: []peerSource{
				{program: "python3", source: "print(sorted(map(int, open('ints.txt')))[100000])"},
				{program: "dash", name: "sort -n", source: `sort -n ints.txt | sed -n '100001{p;q}'`},
				{program: "node", source: `console.log(Float64Array.from(require('fs').readFileSync('ints.txt', 'utf8').trim().split('\n'), Number).sort()[100000])`},
				{program: "nu", source: `open --raw ints.txt | lines | into int | sort | get 100000`},
				{program: "jq", source: `[inputs] | sort[100000]`, files: []string{"ints.txt"}},
				{program: "elvish", source: `echo [(from-lines < ints.txt | each $num~ | order)][100000]`},
			},
		},
		{key: "sort_by", what: "sort_by over 100,000 records (the peers load them)", want: sortByWant, most: threeTimes,
			setup: loadRows, shoal: "rows.sort_by(.age).get(50000).id", peers: sortByPeers},
		{key: "sort_by.load", what: "the same, all load them", want: sortByWant,
			shoal: `json.parse(path("data/rows.json").read).sort_by(.age).get(50000).id`, peers: sortByPeers},
		{key: "group_by", what: "group_by over 100,000 records (the peers load them)", want: groupByWant, most: threeTimes,
			setup: loadRows, shoal: "rows.group_by(.city).map(.values.len()).max()", peers: groupByPeers},
		{key: "group_by.load", what: "the same, all load them", want: groupByWant,
			shoal: `json.parse(path("data/rows.json").read).group_by(.city).map(.values.len()).max()`, peers: groupByPeers},
	}
}

func textWorkloads() []workload {
	return []workload{
		{
			key: "json", what: "JSON of 10 MB, filter and project", want: projectWant, most: threeTimes, shoal: projectShoal,
			peers: []peerSource{
				{program: "jq", source: `input | [.[] | select(.age > 60) | {id, name}]`, files: []string{"wide.json"}, ends: projectEnds},
				{program: "nu", source: `open wide.json | where age > 60 | select id name | to json --raw`, ends: projectEnds},
			},
		},
		{
			key: "json.node", what: "the same", want: projectWant, most: faster, shoal: projectShoal,
			peers: []peerSource{
				{program: "node", ends: projectEnds, source: `const rows = JSON.parse(require('fs').readFileSync('wide.json', 'utf8')); console.log(JSON.stringify(rows.filter(r => r.age > 60).map(r => ({id: r.id, name: r.name}))))`},
				{program: "python3", ends: projectEnds, source: "import json\nprint(json.dumps([{'id': r['id'], 'name': r['name']} for r in json.load(open('wide.json')) if r['age'] > 60], separators=(',', ':')))"},
			},
		},
		{
			key: "csv", what: "CSV of 100,000 rows, filter, JSON", want: csvWant, most: faster,
			shoal: `csv.parse(path("data/rows.csv").read).where(.age.parse_int() > 60).map({id: .id, name: .name}).json().len()`,
			peers: []peerSource{
				{program: "dash", name: "awk", ends: csvEnds, source: `awk -F, 'BEGIN { s = "[" } NR > 1 && $3 > 60 { printf "%s{\"id\":\"%s\",\"name\":\"%s\"}", s, $1, $2; s = "," } END { print "]" }' rows.csv`},
				{program: "nu", ends: csvEnds, source: `open --raw rows.csv | from csv --no-infer | where ($it.age | into int) > 60 | select id name | to json --raw`},
				{program: "python3", ends: csvEnds, source: "import csv, json\nprint(json.dumps([{'id': r['id'], 'name': r['name']} for r in csv.DictReader(open('rows.csv')) if int(r['age']) > 60], separators=(',', ':')))"},
			},
		},
		{
			key: "text", what: "split, join, class and literal regex over 10 MB", want: textWant, most: faster,
			shoal: `path("data/text.txt").read.split(" ").join("\n").replace(re"[0-9]+", "#").replace(re"dolor", "D").len()`,
			peers: []peerSource{
				{program: "dash", name: "tr, sed", source: `tr ' ' '\n' < text.txt | sed -E 's/[0-9]+/#/g; s/dolor/D/g'`, ends: textEnds},
				{program: "nu", source: `open --raw text.txt | split row " " | str join "\n" | str replace --all --regex '[0-9]+' '#' | str replace --all --regex 'dolor' 'D' | str length`, ends: "8355688"},
				{program: "python3", source: "import re\nprint(len(re.sub('dolor', 'D', re.sub('[0-9]+', '#', '\\n'.join(open('text.txt').read().split(' '))))))"},
				{program: "node", source: `console.log(require('fs').readFileSync('text.txt', 'utf8').split(' ').join('\n').replace(/[0-9]+/g, '#').replace(/dolor/g, 'D').length)`},
			},
		},
	}
}

func fileWorkloads() []workload {
	return []workload{
		{
			key: "ls", what: "ls of 10,000 files, filter, sort, take", want: listWant, most: level, shoal: listShoal,
			peers: []peerSource{
				{program: "dash", name: "find, sort", source: `find many -maxdepth 1 -type f -printf '%s\n' | sort -rn | head -n 10 | paste -sd ' '`},
			},
		},
		{
			key: "ls.nu", what: "the same", want: listWant, most: fiveTimes, shoal: listShoal,
			peers: []peerSource{
				{program: "nu", source: `ls many | where type == file | sort-by size --reverse | first 10 | get size | into int | str join " "`},
			},
		},
		{
			key: "glob", what: "recursive glob over 20,000 files", want: "10000", most: level,
			shoal: `glob("data/tree/**/*.txt").expand().len()`,
			peers: []peerSource{
				{program: "dash", name: "find", source: `find tree -name '*.txt' | wc -l`},
				{program: "nu", source: `glob tree/**/*.txt | length`},
				{program: "elvish", source: `echo (count [tree/**.txt])`},
				{program: "bash", source: `shopt -s globstar; set -- tree/**/*.txt; echo $#`},
				{program: "python3", source: "import glob\nprint(len(glob.glob('tree/**/*.txt', recursive=True)))"},
			},
		},
		{
			key: "capture", what: "capture of 100 MB, with the child", want: bigWant, most: level,
			shoal: `(^/bin/cat data/big.txt).stdout.len()`,
			peers: []peerSource{
				{program: "nu", source: `let x = (^cat big.txt); $x | str length`, ends: "104857645"},
				{program: "python3", source: "import subprocess\nprint(len(subprocess.run(['cat', 'big.txt'], capture_output=True).stdout))"},
				{program: "node", source: `console.log(require('child_process').execFileSync('cat', ['big.txt'], {maxBuffer: 1 << 30}).length)`},
				{program: "dash", source: `x=$(cat big.txt; echo .); echo $((${#x} - 1))`},
				{program: "bash", source: `x=$(cat big.txt; echo .); echo $((${#x} - 1))`},
				{program: "elvish", source: `echo (count (cat big.txt | slurp))`},
			},
		},
		{
			key: "feed", what: "10 MB to a child's stdin, with the child", want: feedWant, most: level,
			shoal: `path("data/text.txt").read.feed(^wc -c)`,
			peers: []peerSource{
				{program: "nu", source: `let x = (open --raw text.txt); $x | ^wc -c`},
				{program: "python3", source: "import subprocess\nprint(subprocess.run(['wc', '-c'], input=open('text.txt', 'rb').read(), capture_output=True).stdout.decode())"},
				{program: "node", source: `console.log(String(require('child_process').execFileSync('wc', ['-c'], {input: require('fs').readFileSync('text.txt')})))`},
				{program: "dash", source: `x=$(cat text.txt); printf '%s\n' "$x" | wc -c`},
				{program: "bash", source: `x=$(<text.txt); printf '%s\n' "$x" | wc -c`},
				{program: "elvish", source: `var x = (slurp < text.txt); print $x | wc -c`},
			},
		},
	}
}

// The answers to what data holds.
const (
	sortWant    = "501111485"
	sortByWant  = "15965"
	groupByWant = "2101"
	projectWant = "1275782"
	projectEnds = `"},{"id":79999,"name":"user number 851896"}]`
	csvWant     = "1397664"
	csvEnds     = `"},{"id":"99999","name":"name 721095"}]`
	textWant    = "8355689"
	textEnds    = "adipiscing\nD\n#"
	listWant    = "9999 9998 9997 9996 9995 9994 9993 9992 9991 9990"
	bigWant     = "104857646"
	feedWant    = "10485828"
)
