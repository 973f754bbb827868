// Package gpu holds no code: its tests render NVIDIA's real charts, as files of their Go modules at the versions that
// the program pins, with the values of components/gpu, and ask where the pods land.
//
// It is a module of its own since Helm's library and the charts' modules have no place in the program's.
package gpu
