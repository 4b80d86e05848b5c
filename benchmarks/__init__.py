"""Side by side with peers, in one run: time as a ratio, and the memory that it took.

`python -m benchmarks` runs them all, `python -m benchmarks NAME` one. Each case is a fresh process on Linux that
has warmed up on a small table; memory is the peak above what the process held when the case began. To add one,
write a module with a `main` and list it in `__main__`.
"""
