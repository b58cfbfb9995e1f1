"""The multi-GPU configuration files are valid for accelerate, and required settings are checked."""

from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file

from bowstring.errors import UsageError
from tests.support.training import small

RECIPES = Path(__file__).parents[2] / "recipes" / "accelerate"


@pytest.mark.parametrize(("name", "kind"), [("ddp", "MULTI_GPU"), ("fsdp", "FSDP")])
def test_accelerate_reads_the_configuration(name, kind):
    found = load_config_from_file(str(RECIPES / f"{name}.yaml"))
    assert found.distributed_type.value == kind
    assert found.mixed_precision == "bf16"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsdp_version", "1"),
        ("fsdp_state_dict_type", "SHARDED_STATE_DICT"),
        ("fsdp_activation_checkpointing", "true"),
        ("fsdp_cpu_ram_efficient_loading", "true"),
    ],
)
def test_a_split_of_which_no_adapter_would_come_is_refused(name, value, folder, users, tmp_path, monkeypatch):
    ours = load_config_from_file(str(RECIPES / "fsdp.yaml")).fsdp_config | {name: value}
    for key, said in {"accelerate_use_fsdp": "true", **ours}.items():
        monkeypatch.setenv(key.upper(), str(said))
    with pytest.raises(UsageError, match=f"^{name} is {value}, but must be .* in accelerate's configuration"):
        small("sft", folder, users, tmp_path / "a")
    assert not (tmp_path / "a").exists()
