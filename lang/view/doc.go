// Package view makes what leaves a session from a value: tagged wire JSON with
// elision, text for people and agents, parts of a value by path and slice, and
// raw pieces.
//
// It owns no state and changes no value. Every function bounds its work and
// memory by the limits it is given, not by the size of the value: large values
// are never encoded, rendered or read whole to find out that they are large.
package view
