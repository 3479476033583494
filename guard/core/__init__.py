"""The pure core: what is decided and in which order. Standard library only; no clock, randomness, environment or I/O."""
