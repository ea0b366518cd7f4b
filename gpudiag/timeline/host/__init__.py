"""② Logs of the CPU side, to be put beside a GPU log: `host.read.read_host`, `host.merge.merge`."""
