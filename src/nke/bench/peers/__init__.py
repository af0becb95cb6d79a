"""Other libraries on their own documented examples, and ``nke.fit`` on the same data in the same run.

``pip install 'nke[bench-peers]'``, then ``python -m nke.bench.peers [names] [-o folder]``. Each file is one peer.
"""
