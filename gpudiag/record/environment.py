"""① What is recorded of the command line and the environment, with secrets masked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudiag.masking import MASK, is_secret, masked

_SETTINGS = re.compile(
    r"CUDA_(?:VISIBLE_DEVICES|DEVICE_ORDER|LAUNCH_BLOCKING|MODULE_LOADING)|NVIDIA_VISIBLE_DEVICES"
    r"|FLAGS_\w+|PYTORCH_(?:\w+_)?ALLOC_CONF|XLA_PYTHON_CLIENT_\w+|XLA_FLAGS|NCCL_\w+"
    # TensorFlow's; Terraform has TF_ variables too, some of them secret
    r"|TF_(?!CLI|VAR|TOKEN|LOG|DATA_DIR|WORKSPACE|INPUT|REATTACH|REGISTRY|PLUGIN)\w+"
    r"|OMP_NUM_THREADS|MKL_NUM_THREADS|OPENBLAS_NUM_THREADS|TOKENIZERS_PARALLELISM"
)
_RANK = re.compile(
    r"RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|GROUP_RANK|NODE_RANK"
    r"|SLURM_(?:JOB_ID|STEP_ID|PROCID|LOCALID|NODEID|NNODES|NTASKS|CPUS_PER_TASK|GPUS_ON_NODE"
    r"|JOB_NUM_NODES|ARRAY_JOB_ID|ARRAY_TASK_ID|NODELIST|JOB_PARTITION|TASKS_PER_NODE"
    r"|NTASKS_PER_NODE|CPUS_ON_NODE|JOB_GPUS|STEP_GPUS|MEM_PER_NODE)|SLURMD_NODENAME"
    r"|PBS_JOBID|LSB_JOBID"
    r"|PADDLE_(?:TRAINER_ID|TRAINERS_NUM|RANK_IN_NODE|LOCAL_SIZE|NNODES)"
    r"|OMPI_COMM_WORLD_(?:RANK|LOCAL_RANK|SIZE|LOCAL_SIZE)"
)


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that decide which GPUs are used and how memory is allocated."""
    return _chosen(environ, _SETTINGS)


def rank(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that place this process in a job of several."""
    return _chosen(environ, _RANK)


def _chosen(environ: Mapping[str, str], names: re.Pattern[str]) -> dict[str, str]:
    return {
        name: MASK if is_secret(name) else masked(value)
        for name, value in sorted(environ.items())
        if names.fullmatch(name)
    }
