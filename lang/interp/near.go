package interp

// nearest is the name most like the wrong one: at most two edits away for
// names of five characters and more, else one, and fewer than it has
// characters. Ties go to the smaller distance, then to the first by name.
func nearest(wrong string, names []string) string {
	limit := 1
	if len(wrong) >= 5 {
		limit = 2
	}
	limit = min(limit, len(wrong)-1)
	best, bestAt := "", limit+1
	for _, name := range names {
		if d := distance(wrong, name, limit); d < bestAt || d == bestAt && d <= limit && name < best {
			best, bestAt = name, d
		}
	}
	return best
}

// distance is the edit distance of a and b, or more than limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
