package actors

import (
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// newHost is the world for the run's program under rules. The approvals of the
// plan that is being applied, which may be nil, count.
func (w *worker) newHost(rules *leash.Rules, approved *messages.Plan) *interp.Host {
	r, check := w.run, w.checker(rules, approved)
	h := w.d.NewHost(HostSpec{
		Session: r.host.name, Task: r.num, Output: r.output, Check: check, Steps: &w.steps, Ended: w.programEnded,
	})
	h.Tasks, h.Plans, h.Undo = spawner{w, rules, approved}, w.plans(), undoer{w, check}
	return h
}

// checker judges single effects while the program runs; nil when nothing is
// restricted. An asked-for effect runs only under an approval that covers it.
func (w *worker) checker(rules *leash.Rules, approved *messages.Plan) func(effect.Effect) *value.Error {
	if rules.Unrestricted() {
		return nil
	}
	scene := w.run.host.scene()
	return func(e effect.Effect) *value.Error {
		v := rules.Judge(e, scene)
		if v.Outcome == leash.Allow || v.Outcome == leash.Ask && approves(approved, e) {
			return nil
		}
		err := refusalError(v)
		w.mu.Lock()
		w.refusal, w.refused = &v, err
		w.mu.Unlock()
		return err
	}
}

// readable are the files that policy lets the run read, for deriving effects.
func (w *worker) readable(rules *leash.Rules) interp.Files {
	spec := HostSpec{Session: w.run.host.name, Task: w.run.num}
	if !rules.Unrestricted() {
		scene, approved := w.run.host.scene(), w.run.plan
		spec.Check = func(e effect.Effect) *value.Error {
			v := rules.Judge(e, scene)
			if v.Outcome == leash.Allow || v.Outcome == leash.Ask && approves(approved, e) {
				return nil
			}
			return refusalError(v)
		}
	}
	return w.d.NewHost(spec).Files
}

// judge has only those texts of modules and scripts run that the effects were
// derived from. Where nothing is restricted, or the program was allowed what
// cannot be followed, every text runs.
func (w *worker) judge(derived plan.Result) {
	if w.rules.Unrestricted() || hasOpaque(derived.Effects) {
		return
	}
	judged := map[string]bool{}
	for _, text := range derived.Files {
		judged[text] = true
	}
	w.source = func(path, text string) error {
		if judged[text] {
			return nil
		}
		return value.Errorf(value.CodePermission, "%s has changed since policy judged it", path).
			WithHint("run it again: what it holds now is judged then")
	}
}
