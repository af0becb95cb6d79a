"""Compiled kernels on disk, and where nothing can be written."""

import numpy as np

from nke.systems.gas import compilation


def test_compiles_where_nothing_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert tmp_path in compilation.folder().parents
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert compilation.folder() is None
    assert compilation.entry(lambda x: 1 / x)(0.0) == np.inf
