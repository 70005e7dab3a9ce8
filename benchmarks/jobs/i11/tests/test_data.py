import pytest, torch
def collate(rows): return torch.stack([torch.tensor(r) for r in rows])
def test_shapes(): assert collate([[1, 2], [3, 4]]).shape == (2, 2)
@pytest.mark.xfail(reason="ragged rows are not padded yet (#212)")
def test_ragged():
    rows = [[1, 2], [3]]
    assert collate(rows).shape == (2, 2)
@pytest.mark.xfail(reason="needs a GPU", raises=(RuntimeError, AssertionError))
def test_cuda_stream(): torch.zeros(1, device="cuda")
@pytest.mark.parametrize("s", ["ü", "漢"])
def test_unicode(s): assert s.encode().decode() == s
