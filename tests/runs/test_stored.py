"""What is stored of a request, read back."""

import json
from types import SimpleNamespace

import pytest

from bowstring.errors import StoreError
from bowstring.records import Sampling
from bowstring.runs.stored import StoredResponse


def test_settings_are_read_back():
    asked = Sampling(max_tokens=12, temperature=0.5, top_p=0.9)
    row = SimpleNamespace(key="k" * 64, sampling=json.dumps(asked.settings()))
    assert StoredResponse.settings(row) == asked


def test_settings_of_another_version_are_named():
    row = SimpleNamespace(key="k" * 64, sampling='{"max_tokens": 12, "temperature": 0.5, "limit_name": "x"}')
    with pytest.raises(StoreError, match="limit_name, which this version does not know"):
        StoredResponse.settings(row)
