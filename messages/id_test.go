package messages

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSessionNames(t *testing.T) {
	for name, want := range map[string]bool{
		"default": true, "a": true, "A.b_c-9": true, strings.Repeat("x", 64): true,
		"": false, ".hidden": false, "a b": false, "a/b": false, "ä": false, "a\x00": false,
		strings.Repeat("x", 65): false,
	} {
		if got := SessionName(name).Valid(); got != want {
			t.Errorf("Valid(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestNumbersHaveOneSpelling(t *testing.T) {
	for id, want := range map[string]int64{
		"task:9": 9, "task:0": 0, "task:18446744073709551615": -1,
		"task:": -2, "task:09": -2, "task:+9": -2, "task:9 ": -2, "task:18446744073709551616": -2, "pty:9": -2, "9": -2,
	} {
		n, ok := TaskID(id).Num()
		if ok != (want != -2) || ok && int64(n) != want {
			t.Errorf("Num(%q) = %d, %v", id, n, ok)
		}
	}
	if n, ok := OutRef(17).Out(); n != 17 || !ok {
		t.Errorf("OutRef does not read back: %d, %v", n, ok)
	}
}

func TestURIs(t *testing.T) {
	for got, want := range map[string]string{
		OutRef(3).URI():            "shoal://out/3",
		Ref("val:blake3:ab").URI(): "shoal://val/blake3:ab",
		NewTaskID(9).URI():         "shoal://task/9",
		NewTaskID(9).Channel():     "task.9",
		NewPTYID(2).URI():          "shoal://pty/2",
		NewPTYID(2).Channel():      "pty.2",
		PlanRef("plan:00ff").URI(): "shoal://plan/00ff",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestErrorsKeepTheirData(t *testing.T) {
	base := Errorf(CodeQuota, "full: %d", 3)
	e := base.With(map[string]int{"limit": 3})
	if base.Data != nil {
		t.Error("With changed its receiver")
	}
	b, err := json.Marshal(e)
	if err != nil || string(b) != `{"code":-32040,"message":"full: 3","data":{"limit":3}}` {
		t.Errorf("marshal: %s, %v", b, err)
	}
	if !strings.Contains(e.Error(), "QUOTA") {
		t.Errorf("Error() = %q, want the symbolic name in it", e.Error())
	}
}

func TestEveryCodeHasOneRow(t *testing.T) {
	seen := map[Code]bool{}
	names := map[string]bool{}
	for _, row := range Codes {
		if seen[row.Code] || names[row.Name] {
			t.Errorf("%d %s stands twice in the table", row.Code, row.Name)
		}
		seen[row.Code], names[row.Name] = true, true
	}
	if Code(-1).Name() != "CODE_-1" {
		t.Errorf("an unknown code is named %s", Code(-1).Name())
	}
}

func TestRetention(t *testing.T) {
	for name, want := range map[string]Retention{
		"journal": RetainJournal, "kernel.journal": RetainJournal, "session.transcript": RetainJournal,
		"task.9": RetainRing, "user.x": RetainRing, "user.pty.1": RetainRing, "kernel": RetainRing,
		"task.9.output": RetainMemory, "pty.3": RetainMemory,
	} {
		if got := (ChannelKey{Name: name}).Retention(); got != want {
			t.Errorf("retention of %s: %v, want %v", name, got, want)
		}
	}
}
