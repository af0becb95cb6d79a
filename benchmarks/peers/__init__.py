"""Other libraries on their own documented examples, and ``nke.fit`` on the same data in the same run.

From the root of the repository: ``pip install --editable '.[bench-peers]'``, then ``python -m benchmarks.peers [name]
[-o folder]``. Each file is one peer.
"""
