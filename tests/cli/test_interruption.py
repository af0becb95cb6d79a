"""Ctrl-C ends a command within a second, also where Python cannot raise it."""

import signal
import subprocess
import sys
import time

import pytest

DEAF = """
import signal, time, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import nke, nke.files
from nke.cli.main import main

def read(*arguments, **options):
    print("reads", flush=True)
    {body}

nke.files.read = read
main(["info", "a.csv"])
"""
BODIES = {
    "Python": "time.sleep(60)",
    "a callback that ignores it": """
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass""",
    "compiled code": """
    import jax
    from jax import numpy as jnp
    jax.jit(lambda x: jax.lax.fori_loop(0, 10**9, lambda i, x: jnp.sin(x), x))(jnp.ones(1000)).block_until_ready()""",
}


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_ends_soon(body):
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF.format(body=BODIES[body])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reads\n"
    time.sleep(1.5 if body == "compiled code" else 0.2)  # it is to run, not to compile
    assert process.poll() is None
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.endswith("nke: interrupted\n")
    assert time.perf_counter() - begin < 10, "a second on a machine with nothing else to do"
