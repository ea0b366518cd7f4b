"""Before ① record: is everything in place to record on this machine?

`machine.gather` collects the facts, once; a check is a small function from a `Machine` to a
`Result`, or to None where it does not apply. Nothing heavy is imported.
"""
