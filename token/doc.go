// Package token keeps the bearer tokens of one state directory, in one file
// that the kernel and the command line share.
//
// The file holds digests only: a token is shown once, when it is made. It is
// replaced in one step and never changed in place, under a lock that its
// writers take, so a reader sees all of a change or nothing. A Store that checks
// tokens looks at the file each time and reads it again when it has been
// replaced, so that what is created or revoked counts at once, and a file that
// cannot be read lets nobody in.
//
// The package knows nothing of what a principal may do.
package token
