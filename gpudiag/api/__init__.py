"""From Python and notebooks: `gpudiag.record()`, the report as an object, `%%gpudiag`.

It stands beside `cli`, on top of the flow: ① through a recorder of its own, then ② to ⑤.
"""
