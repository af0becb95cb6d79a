"""The limit on the time of a fit."""

import threading
import time

import pytest

from nke.bench.capping import CapReachedError, capped


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_fit_is_capped_in_any_thread(in_thread):
    seen = []

    def work():
        end = time.monotonic() + 20
        while time.monotonic() < end:
            time.sleep(0.01)

    def attempt():
        with pytest.raises(CapReachedError, match=r"cap of 0\.1 s"):
            capped(work, 0.1)
        seen.append(capped(lambda: "in time", 30.0))

    thread = threading.Thread(target=attempt)
    if in_thread:
        thread.start()
        thread.join()
    else:
        attempt()
    assert seen == ["in time"]
