"""Tasks under limits of memory and processor time, in children of a process that has imported and compiled what they need.

A child does one task after the other, so that a task costs no start of a process. When a limit, a crash or a hang ends it,
the next child begins with the next task.
"""

import gc
import json
import math
import os
import resource
import select
import signal
import time
from typing import NamedTuple

MEMORY = 2**31  # bytes of address space that a task may take, besides those of the process at its fork
CPU = 60  # s of processor time for one task
PATIENCE = 120.0  # s after which a task hangs
TOGETHER = 500  # tasks of one child
ENDED_BY = {signal.SIGXCPU: f"takes more than {CPU} s of processor time", signal.SIGKILL: f"hangs for {PATIENCE:.0f} s"}


class Answer(NamedTuple):
    """What became of a task, and what it took."""

    outcome: str
    words: str
    memory: int  # bytes: the most that was resident, besides what was before
    seconds: float  # of processor time


def answers(task, jobs, noise):
    """(job, Answer) for each job, in order; ``task(job)`` returns outcome and words. Children write stdout and stderr to the
    file descriptor `noise`."""
    gc.collect()
    gc.freeze()
    done = 0
    while done < len(jobs):
        reader, writer = os.pipe()
        child = os.fork()
        until = min(done + TOGETHER, len(jobs))
        if child == 0:
            os.close(reader)
            do_all(task, jobs[done:until], os.fdopen(writer, "w", buffering=1), noise)
        os.close(writer)
        for answer in received(reader, child):
            yield jobs[done], answer
            done += 1
        os.close(reader)
        _, status = os.waitpid(child, 0)
        if done < until:
            by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            how = ENDED_BY.get(by, f"crashes with signal {by}" if by else f"exits with code {os.WEXITSTATUS(status)}")
            yield jobs[done], Answer("finding", how, 0, math.nan)
            done += 1


def received(reader, child):
    """The answers of a child, until it ends or is ended because none comes."""
    waiting = b""
    while True:
        if not select.select([reader], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
            return
        if not (data := os.read(reader, 2**16)):
            return
        *lines, waiting = (waiting + data).split(b"\n")
        yield from (Answer(*json.loads(line)) for line in lines)


def do_all(task, jobs, lines, noise):
    """In the child: does the tasks, writes an answer to each, and ends the process."""
    try:
        os.dup2(noise, 1)
        os.dup2(noise, 2)
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (memory_of("VmSize") + MEMORY, most))
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        for job in jobs:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + CPU, most))
            before, began = forget_peak(), time.process_time()
            try:
                outcome, words = task(job)
            except BaseException as error:
                outcome, words = "finding", repr(error)
            took = time.process_time() - began
            lines.write(json.dumps([outcome, words, memory_of("VmHWM") - before, took]) + "\n")
        os._exit(0)
    finally:
        os._exit(1)


def memory_of(name):
    """A line of /proc/self/status, in bytes."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))


def forget_peak():
    """Start the peak of resident memory anew; returns what is resident, in bytes."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return memory_of("VmRSS")
