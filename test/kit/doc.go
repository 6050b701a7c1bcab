// Package kit starts real Shoal binaries for tests and talks to them as their
// users do: a private world per test, kernels and facades as processes, the raw
// protocol, and MCP line by line.
//
// A World owns every process that was started in it, directly or by Shoal
// itself, knows them by its own directory in their environment, and at the end
// of the test stops the kernels and demands that nothing is left. The package
// never waits by sleeping for a guessed time, only for conditions.
package kit
