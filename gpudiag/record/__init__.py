"""① Run a command untouched, sample GPUs, host and processes on one clock, write run.csv.

Standard library and psutil only: the command must start within 100 ms. `recorder.record` is the
way in; what each figure really measures stands in docs/recording.md.
"""
