"""The folder of compiled programs."""

import os

from nke.cli.cache import use_compilation_cache


def test_compiled_programs_are_kept_unless_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NKE_CACHE", "off")
    use_compilation_cache()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
    for told, folder in (("", tmp_path / "nke" / "jax"), (str(tmp_path / "own"), tmp_path / "own")):
        monkeypatch.setenv("NKE_CACHE", told)
        monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
        use_compilation_cache()
        assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(folder)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    use_compilation_cache()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
