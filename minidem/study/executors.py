"""Run the cells of a study on processes of this machine or on a Dask cluster.

An executor takes a function that cuts the cells into bundles for a number of workers, and yields events: ("started", number
of the cell) and ("done", record). Results do not depend on the executor.
"""

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from ..errors import InputError, WriteError
from ..machine import map_large_arrays
from .cells import Job, run_bundle, run_cell
from .plan import Cell
from .records import Record

Event = tuple[str, Any]
Cut = Callable[[int], Iterator[list[Cell]]]
MOST_DEATHS = 2  # of workers that ran the same cell, before it counts as failed


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes started here ignore Ctrl-C, which a terminal sends to all processes; their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # not on every system
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # else it starts with the first process, and unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- processes ----------------------------------------------------------------------------------------------


def on_processes(job: Job, cut: Cut, size: int, stop: Callable[[], bool]) -> Iterator[Event]:
    """Run the bundles on `size` processes. A worker that dies is replaced, and its unfinished cells are run again."""
    waiting = deque(cut(size))
    deaths: dict[int, int] = {}
    crew: list[Worker] = []
    try:
        while waiting or any(worker.cells for worker in crew):
            crew = [worker for worker in crew if worker.alive]
            while waiting and len(crew) < size:
                crew.append(Worker(job))
            for worker in crew:
                if waiting and not worker.cells:
                    worker.take(waiting.popleft())
            ready = wait([worker.connection for worker in crew], timeout=0.2)
            for worker in crew:
                if worker.connection in ready:
                    event = worker.event()
                    if event is not None and event[0] == "unwritable":
                        raise WriteError(event[1])
                    if event is not None:
                        yield event
                        continue
                    worker.end()  # it was running the first of its cells
                    number = worker.cells[0].number if worker.cells else -1
                    deaths[number] = deaths.get(number, 0) + 1
                    if worker.cells and deaths[number] >= MOST_DEATHS:
                        lost = worker.cells.pop(0)
                        yield "done", dead(lost, f"its process died {MOST_DEATHS} times ({worker.exit()})")
                    if worker.cells:
                        waiting.appendleft(worker.cells)
            if stop():
                return
    finally:
        for worker in crew:
            worker.end()


def dead(cell: Cell, reason: str) -> Record:
    """The record of a cell whose worker died."""
    return {"cell": cell.number, "status": "failed", "reason": reason}


class Worker:
    """A process, a pipe to it, and the cells that it has not finished."""

    def __init__(self, job: Job):
        context = multiprocessing.get_context("spawn")  # a fork would copy locks held by other threads
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, job, os.getpid()), daemon=True)
        with deaf_children():
            self.process.start()
        theirs.close()
        self.cells: list[Cell] = []
        self.alive = True

    def take(self, cells: list[Cell]) -> None:
        """Send cells to the process."""
        self.cells = cells
        with suppress(OSError):  # it died while idle, which `event` will notice
            self.connection.send(cells)

    def event(self) -> Event | None:
        """The next event from the process; None if it died."""
        try:
            kind, what = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(5)  # so that its exit code is known
            return None
        if kind == "done":
            self.cells = self.cells[1:]
        return kind, what

    def exit(self) -> str:
        """The signal or exit code that the process ended with."""
        code = self.process.exitcode
        return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"

    def end(self) -> None:
        """Kill the process."""
        self.alive = False
        self.process.kill()
        self.process.join()
        self.connection.close()


def work(connection: Connection, job: Job, parent: int) -> None:
    """Main function of a worker: receives bundles and sends events, until its parent is gone."""
    map_large_arrays()
    sys.excepthook = lambda *_: None  # HDF5 prints many errors when it closes on a full disk
    sys.unraisablehook = lambda _: None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            for cell in connection.recv():
                connection.send(("started", cell.number))
                try:
                    connection.send(("done", run_cell(job, cell)))
                except WriteError as error:
                    connection.send(("unwritable", str(error)))
                    os._exit(1)  # at once: at a normal exit HDF5 would try to write again


def end_with(parent: int) -> None:
    """End this process when its parent is gone: a killed parent cannot end its workers."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


# --- Dask ---------------------------------------------------------------------------------------------------


def on_dask(job: Job, cut: Cut, address: str, size: int, stop: Callable[[], bool]) -> Iterator[Event]:
    """Run the bundles on the cluster at an address, or on `size` local workers (address "local")."""
    try:
        from distributed import CancelledError, Client, LocalCluster, wait
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise InputError("--dask: needs the package distributed; pip install 'minidem[cluster]'") from None
    logging.getLogger("distributed.client").setLevel(QUIET)
    with ExitStack() as open_:
        cluster: Any = address
        if address == "local":
            with deaf_children():
                cluster = open_.enter_context(
                    LocalCluster(n_workers=size, threads_per_worker=1, dashboard_address=None, silence_logs=QUIET)
                )
        try:
            client = open_.enter_context(Client(cluster, timeout=20))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"--dask {address}: no cluster answers there ({error}); start one, or give local") from None
        bundles = cut(sum(client.nthreads().values()) or size)
        waiting = {
            client.submit(run_bundle, job, bundle, pure=False, priority=-k): bundle for k, bundle in enumerate(bundles)
        }
        while waiting and not stop():
            try:
                with suppress(TimeoutError):
                    wait(list(waiting), timeout=0.5, return_when="FIRST_COMPLETED")
                for future in [future for future in waiting if future.done()]:
                    bundle = waiting.pop(future)
                    try:
                        records = future.result()
                    except KilledWorker:
                        if len(bundle) > 1:  # any of them may be the cause: run them one by one
                            waiting |= {client.submit(run_bundle, job, [cell], pure=False): [cell] for cell in bundle}
                            continue
                        records = [dead(bundle[0], "the Dask workers that ran it died")]
                    yield from (("done", record) for record in records)
            except (CancelledError, CommClosedError):
                raise WriteError(
                    f"--dask {address}: the cluster is gone; start it again and continue with --resume"
                ) from None
            except WriteError:
                raise
            except Exception as error:  # run_bundle itself raises only WriteError
                what = f"its workers cannot run this ({type(error).__name__}: {error})"
                raise WriteError(
                    f"--dask {address}: {what}; install this minidem there and continue with --resume"
                ) from None
        client.cancel(list(waiting))


QUIET = logging.CRITICAL  # Dask logs a lot about lost workers and schedulers
