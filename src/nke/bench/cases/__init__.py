"""The systems of the benchmark, a file each: ``CASES`` in any module here is found by name."""
