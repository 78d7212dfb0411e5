"""Signals: the first asks, the second ends the process, whatever the main thread is at."""

import signal
import subprocess
import sys

import pytest

PATIENCE = 300  # seconds until a process is taken to hang, on a busy machine

DEAF = """
import threading
import time

import numba
import numpy as np

from extbnsl.machine.interrupts import Interrupts

@numba.njit(nogil=True)
def spin(over, turns):
    while not over[0]:
        turns[0] += 1

def tell(turns):
    while not turns[0]:
        time.sleep(0.01)
    print("ready", flush=True)

spin(np.ones(1, np.uint8), np.zeros(1, np.int64))
with Interrupts() as interrupts:
    {arm}
    turns = np.zeros(1, np.int64)
    threading.Thread(target=tell, args=(turns,), daemon=True).start()
    spin(np.zeros(1, np.uint8), turns)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("arm", ['interrupts.arm("Stopping.", lambda: print("at once", flush=True))', ""])
def test_the_second_signal_ends_a_process_that_is_in_a_deaf_kernel(number, arm):
    process = subprocess.Popen([sys.executable, "-c", DEAF.format(arm=arm)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(number)
        said, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert said == ("at once\n" if arm else "")


AFTER = """
import os, signal, threading

from extbnsl.machine.interrupts import Interrupts

before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
for _ in range(100):
    with Interrupts() as interrupts:
        assert interrupts.stop() is None
        interrupts.arm("Stopping.")
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.stop() == "interrupted"
assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
assert signal.set_wakeup_fd(-1) == -1
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join(60)
assert len(os.listdir("/proc/self/fd")) < 50
"""


def test_nothing_is_left_of_it():
    subprocess.run([sys.executable, "-c", AFTER], check=True, timeout=PATIENCE, capture_output=True)
