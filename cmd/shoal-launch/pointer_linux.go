package main

import "unsafe"

// pointer is v's address for a system call.
func pointer(v *uint32) unsafe.Pointer { return unsafe.Pointer(v) }
