"""What is recorded of command line and environment, and what is masked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.masking import masked, masked_command
from gpudiag.record.environment import rank, settings

SECRET = "s3cr3tV4lue"


@pytest.mark.parametrize(
    "command",
    [
        ["--api-key=" + SECRET],
        ["--api_key", SECRET],
        ["--token", SECRET],
        ["--hf-token=" + SECRET],
        ["--wandb.api_key=" + SECRET],
        ["--db-password", SECRET],
        ["--client-secret=" + SECRET],
        ["WANDB_API_KEY=" + SECRET, "python"],
        ["env", "MY_TOKEN=" + SECRET],
        ["--note", "resume: --api-key=" + SECRET],
        ["It said: --token " + SECRET],
        ["--export=ALL,A=b;HF_TOKEN=" + SECRET],
        ["sh", "-c", f"export HF_TOKEN={SECRET}; python t.py"],
        ["sh", "-c", f"PASSWORD='{SECRET}' python t.py"],
        ["sh", "-c", f"python t.py --password {SECRET} --lr 1"],
        ["git+https://user:" + SECRET + "@host/x.git"],
        ["https://host/x?access_token=" + SECRET + "&b=1"],
        ["-H", "Authorization: Bearer " + SECRET],
        ["--aws_secret_access_key=" + SECRET],
        ["hf_abcdefghijklmnopqrst" + SECRET],
        ["sk-proj-abcdefghijklmnop" + SECRET],
        ["ghp_abcdefghijklmnopqrst" + SECRET],
    ],
)
def test_secrets_are_masked(command: list[str]) -> None:
    """GIVEN a secret in a command line THEN it is not in the recording."""
    shown = masked_command(["python", "train.py", *command])
    assert SECRET not in " ".join(shown)
    assert "***" in " ".join(shown)


@pytest.mark.parametrize(
    "command",
    [
        ["--max-tokens", "512"],
        ["--max_new_tokens=128"],
        ["--tokenizer", "bert-base"],
        ["--tokenizer_path=/data/tok"],
        ["--pad_token_id", "0"],
        ["--num-tokens=5"],
        ["--keyboard", "x"],
        ["--author", "me"],
        ["--key_frame=3"],
        ["https://host/data?split=train"],
        ["the token of thanks"],
        ["--lr", "1e-3", "--", "-x"],
    ],
)
def test_what_is_no_secret_stays(command: list[str]) -> None:
    """GIVEN words that only sound like secrets THEN the command is recorded as it is."""
    assert masked_command(command) == command


def test_the_option_after_a_secret_option_stays() -> None:
    """GIVEN a secret option without a value THEN the next option is not taken for it."""
    assert masked_command(["--token", "--lr", "1"]) == ["--token", "--lr", "1"]


def test_settings() -> None:
    """GIVEN an environment THEN what decides on GPUs and memory is recorded, and nothing else."""
    environ = {
        "CUDA_VISIBLE_DEVICES": "0,2",
        "FLAGS_allocator_strategy": "auto_growth",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "PYTORCH_ALLOC_CONF": "x",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "TF_VAR_db": SECRET,
        "TF_TOKEN_app_terraform_io": SECRET,
        "TF_CLI_CONFIG_FILE": "/root/.terraformrc",
        "HOME": "/root",
        "WANDB_API_KEY": SECRET,
        "FLAGS_my_api_key": SECRET,
    }
    found = settings(environ)
    assert set(found) == {
        "CUDA_VISIBLE_DEVICES", "FLAGS_allocator_strategy", "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_ALLOC_CONF", "XLA_PYTHON_CLIENT_PREALLOCATE", "TF_FORCE_GPU_ALLOW_GROWTH",
        "FLAGS_my_api_key",
    }  # fmt: skip
    assert SECRET not in str(found)


def test_rank() -> None:
    """GIVEN the variables of launchers THEN they are recorded."""
    environ = {"RANK": "3", "SLURM_JOB_ID": "17", "PADDLE_TRAINER_ID": "1", "SLURM_JWT": SECRET}
    assert rank(environ) == {"RANK": "3", "SLURM_JOB_ID": "17", "PADDLE_TRAINER_ID": "1"}


@given(st.lists(st.text(max_size=60)))
def test_any_command_can_be_masked(command: list[str]) -> None:
    """GIVEN any words THEN as many come out, each of a sensible length."""
    shown = masked_command(command)
    assert len(shown) == len(command)
    assert all(len(word) <= 600 for word in shown)


def test_long_words_are_cut() -> None:
    """GIVEN an argument of a megabyte THEN the recording does not grow by it, nor take long."""
    assert len(masked("x" * 1_000_000)) < 600
