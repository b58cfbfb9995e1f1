"""Long causal sequences are padded to few lengths for the cuDNN kernel, without changing the result."""

import pytest
import torch

from bowstring.tree import attention
from bowstring.tree.attention import Part, attend, attend_back

SCALE = 0.3


@pytest.fixture
def kernels(monkeypatch):
    """Replaces the cuDNN kernels with plain arithmetic; returns the lengths of the calls."""
    lengths = []

    def forward(query, key, value, *_, scale):
        lengths.append(query.shape[2])
        part = attention._attend_plainly(query, key, value, scale, attention._triangle(query))
        return part.out, part.lse.unsqueeze(-1)

    def backward(grad, query, key, value, out, lse, *_, scale):
        lengths.append(query.shape[2])
        mask = attention._triangle(query)
        return attention._plain_back(grad, query, key, value, Part(out, lse.squeeze(-1)), scale, mask)

    monkeypatch.setattr(attention, "_cudnn", forward)
    monkeypatch.setattr(attention, "_cudnn_back", backward)
    monkeypatch.setattr(attention, "_on_gpu", lambda query: True)
    monkeypatch.setattr(attention, "_is_long", lambda query: True)
    monkeypatch.setattr(attention, "_LENGTHS", 8)
    return lengths


def sequences(length, *, device="cpu", dtype=torch.float32, width=4):
    torch.manual_seed(length)
    shapes = ((1, 4, length, width), (1, 2, length, width), (1, 2, length, width), (1, 4, length, width))
    return [torch.randn(shape, device=device).to(dtype) for shape in shapes]


def plainly(query, key, value, grad):
    """Outputs and gradients by autograd, in float32."""
    query, key, value, grad = (t.detach().float().requires_grad_() for t in (query, key, value, grad))
    wide = [t.repeat_interleave(2, dim=1) for t in (key, value)]
    out = torch.nn.functional.scaled_dot_product_attention(query, *wide, is_causal=True, scale=SCALE)
    return out, *torch.autograd.grad(out, (query, key, value), grad)


def ours(query, key, value, grad):
    part = attend(query, key, value, SCALE, causal=True)
    return part.out, *attend_back(grad, query, key, value, part, SCALE, causal=True)


@pytest.mark.parametrize("length", [5, 8, 11, 16])
def test_lengths_are_few_and_results_the_same(kernels, length):
    given = sequences(length)
    for found, wanted in zip(ours(*given), plainly(*given), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    assert set(kernels) == {8 * -(-length // 8)}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("length", [300, 4096, 5001, 17_256])
def test_on_a_gpu(length):
    given = sequences(length, device="cuda", dtype=torch.bfloat16, width=64)
    for found, wanted in zip(ours(*given), plainly(*given), strict=True):
        off = (found.float() - wanted).abs().mean() / wanted.abs().mean()
        assert off < 0.02
