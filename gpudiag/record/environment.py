"""① What is recorded of the command line and the environment, with secrets masked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

MASK = "***"
_LONGEST = 500
_LONGEST_NAME = 100
_LONGEST_READ = 4000  # patterns must not take seconds over a hostile argument

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
_SECRET = re.compile(
    r"api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential|private[_-]?key|access[_-]?key"
    r"|(?<![a-z])auth(?![a-z])|authorization|(?-i:_(?:KEY|PAT|PWD)$)",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"(?:max|min|num|n|new|pad|eos|bos|sep|cls|unk|mask|special)[_-]?tokens?|tokens?[_-]\w+"
    r"|[\w-]*tokens|[\w.-]*tokeni[sz]\w*|[\w-]*_token_(?:id|idx|index|type\w*)",
    re.IGNORECASE,
)
# an option may have its value as the next word, a plain name only after = or :
_NAMED = re.compile(
    r"(?<![\w.-])(?P<name>--?\w[\w.-]*(?=\s*[=:]|\s+[^\s-])|[\w.][\w.-]*(?=\s*[=:]))"
    r"(?P<sep>\s*[=:]\s*|\s+)(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"';&|]+)"
)
_URL_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_URL_QUERY = re.compile(
    r"(?<=[?&])((?:\w*(?:token|key|secret|signature|password|sig)\w*)=)[^&\s#]+", re.IGNORECASE
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
# what common services hand out, wherever it stands
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abpr]-[\w-]{10,}|AKIA[A-Z0-9]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)"
)


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that decide which GPUs are used and how memory is allocated."""
    return _chosen(environ, _SETTINGS)


def rank(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that place this process in a job of several."""
    return _chosen(environ, _RANK)


def masked_command(command: Sequence[str]) -> list[str]:
    """The command line without what looks like a secret."""
    words: list[str] = []
    hide_next = False
    for word in command:
        if hide_next and not word.startswith("--"):
            words.append(MASK)
        else:
            words.append(masked(word))
        hide_next = word.startswith("-") and _is_secret(word.lstrip("-"))
    return words


def masked(text: str) -> str:
    """`text` without what looks like a secret, cut to a sensible length."""
    cut = text[:_LONGEST_READ]
    cut = _URL_QUERY.sub(rf"\g<1>{MASK}", _URL_USER.sub(MASK, cut))
    cut = _TOKEN.sub(MASK, _BEARER.sub(rf"\g<1> {MASK}", cut))
    cut = _NAMED.sub(_mask_named, cut)
    return cut if len(cut) <= _LONGEST and len(text) <= _LONGEST_READ else cut[:_LONGEST] + "…"


def _mask_named(match: re.Match[str]) -> str:
    if _is_secret(match["name"].lstrip("-")):
        return f"{match['name']}{match['sep']}{MASK}"
    return match[0]


def _chosen(environ: Mapping[str, str], names: re.Pattern[str]) -> dict[str, str]:
    return {
        name: MASK if _is_secret(name) else masked(value)
        for name, value in sorted(environ.items())
        if names.fullmatch(name)
    }


def _is_secret(name: str) -> bool:
    """Whether what goes by this name should not be seen."""
    if len(name) > _LONGEST_NAME or _HARMLESS.fullmatch(name):
        return False
    return _SECRET.search(name) is not None
