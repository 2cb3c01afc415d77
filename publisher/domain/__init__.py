"""What is true: pure values and rules. No I/O, no clock, no third-party import; ``now`` is always an argument."""
