// Package kernel puts the daemon together: options, state directory and locks,
// stores, the tree of actors, the socket, and the orderly stop.
//
// It is the composition root: it knows every part and holds no logic of its
// own. One Kernel owns one state directory for as long as it runs.
package kernel
