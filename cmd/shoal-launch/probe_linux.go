package main

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// probe tries each means once.
func probe() means {
	m := means{UserNamespaces: tryNamespaces(), Landlock: landlockABI(), Seccomp: trySeccomp(), Tier: "none"}
	switch {
	case m.UserNamespaces && m.Landlock > 0 && m.Seccomp:
		m.Tier = "ns"
	case m.Landlock > 0 && m.Seccomp:
		m.Tier = "landlock"
	}
	return m
}

// tryNamespaces runs a program in namespaces of its own.
func tryNamespaces() bool {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{
			{ContainerID: syscall.Getuid(), HostID: syscall.Getuid(), Size: 1},
		},
		GidMappings: []syscall.SysProcIDMap{
			{ContainerID: syscall.Getgid(), HostID: syscall.Getgid(), Size: 1},
		},
	}
	return cmd.Run() == nil
}

// landlockABI asks for the version of Landlock, 0 when there is none.
func landlockABI() int {
	const versionOnly = 1
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, versionOnly)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// trySeccomp asks whether filters that return an error can be installed.
func trySeccomp() bool {
	const getActionAvail = 2
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, getActionAvail, 0, uintptr(pointer(&action)))
	return errno == 0
}
