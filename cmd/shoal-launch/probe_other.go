//go:build !linux

package main

// probe finds nothing where none of the means exists.
func probe() means { return means{Tier: "none"} }
