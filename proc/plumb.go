package proc

import "os"

// plumbing is the descriptors of one command: the child's ends, and ours.
type plumbing struct {
	child           []*os.File // the child's ends of pipes, closed after the start
	inW, outR, errR *os.File   // ours
}

// connect makes the pipes and returns the child's three files.
func (p *plumbing) connect(r *Runner, spec Spec) ([]*os.File, error) {
	if t := spec.Terminal; t != nil {
		return []*os.File{t, t, t}, nil
	}
	in, out, errf := r.null, spec.StdoutFile, spec.StderrFile
	var err error
	switch src := spec.Stdin.(type) {
	case nil:
	case *os.File:
		in = src
	default:
		if in, p.inW, err = p.pipe(true); err != nil {
			return nil, err
		}
	}
	if out == nil {
		if out, p.outR, err = p.pipe(false); err != nil {
			return nil, err
		}
	}
	switch {
	case spec.Merge:
		errf = out
	case errf == nil:
		if errf, p.errR, err = p.pipe(false); err != nil {
			return nil, err
		}
	}
	return []*os.File{in, out, errf}, nil
}

// pipe makes a pipe of which the child reads or writes one end.
func (p *plumbing) pipe(childReads bool) (child, ours *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	child, ours = w, r
	if childReads {
		child, ours = r, w
	}
	p.child = append(p.child, child)
	return child, ours, nil
}

func (p *plumbing) closeChild() {
	for _, f := range p.child {
		f.Close()
	}
}

func (p *plumbing) closeOurs() {
	for _, f := range []*os.File{p.outR, p.errR, p.inW} {
		if f != nil {
			f.Close()
		}
	}
}
