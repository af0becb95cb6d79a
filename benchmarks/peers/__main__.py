"""``python -m benchmarks.peers [name ...] [-o folder] [--seeds n] [--cap seconds]``."""

import argparse
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import jax

from benchmarks.peers.example import Example, Run, table
from nke.bench.measure import plain, versions

MODULES = {
    "jumpdiff": "jumpdiff_readme",
    "kramersmoyal": "kramersmoyal_readme",
    "StochasticForceInference": "force_inference_gallery",
    "torchsde": "latent_sde",
}


def main(arguments: list[str]) -> None:
    """Runs the examples of the peers that were named, or of all, and writes their records and tables."""
    parser = argparse.ArgumentParser("python -m benchmarks.peers", description="Other libraries beside nke.fit.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(MODULES)} (default: all)")
    parser.add_argument("-o", "--output", type=Path, default=Path("nke-peers"), help="folder of the results")
    parser.add_argument("--seeds", type=int, help="data sets for each example (default: as each example says)")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds for a peer trained by iterations (300)")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(MODULES):
        parser.error(f"expected some of {', '.join(MODULES)}, but got {', '.join(sorted(unknown))}")
    asked.output.mkdir(parents=True, exist_ok=True)
    tables = []
    for example in _examples(asked.names or list(MODULES)):
        tables.append(_measure(example, asked.seeds or example.seeds, asked.cap, asked.output / "peers.jsonl"))
        print(tables[-1], end="\n\n", flush=True)
        (asked.output / "peers.md").write_text("\n\n".join(tables) + "\n", encoding="utf-8")


def _examples(names: list[str]) -> Iterator[Example]:
    for name in names:
        try:
            module = import_module(f"benchmarks.peers.{MODULES[name]}")
        except ModuleNotFoundError as missing:
            print(f"{name} is left out, {missing}: pip install --editable '.[bench-peers]'", file=sys.stderr)
            continue
        yield from module.EXAMPLES


def _measure(example: Example, seeds: int, cap: float, file: Path) -> str:
    rows = []
    for seed in range(seeds):
        row = example.measure(Run(seed, cap))
        rows.append(row)
        record = {"problem": example.problem, "peer": example.peer, "seed": seed, "cap": cap}
        record |= {"truth": row.truth, "ours": row.ours, "peer_figures": row.peer, "decided": row.decisions}
        record["versions"] = versions() | {example.peer: version(example.peer)}
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(plain(record), ensure_ascii=False, allow_nan=False) + "\n")
    return table(example, rows)


if __name__ == "__main__":
    jax.config.update("jax_enable_compilation_cache", False)  # the times are those of a first call
    main(sys.argv[1:])
