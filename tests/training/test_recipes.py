"""The configuration files for several GPUs are ones that accelerate accepts."""

from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file

RECIPES = Path(__file__).parents[2] / "recipes" / "accelerate"


@pytest.mark.parametrize(("name", "kind"), [("ddp", "MULTI_GPU"), ("fsdp", "FSDP")])
def test_accelerate_reads_the_configuration(name, kind):
    found = load_config_from_file(str(RECIPES / f"{name}.yaml"))
    assert found.distributed_type.value == kind
    assert found.mixed_precision == "bf16"
