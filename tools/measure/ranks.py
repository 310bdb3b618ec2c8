"""Several processes, one for each GPU (NCCL), or on a CPU (gloo): what they agree on, and what the first of them found."""
import multiprocessing
import multiprocessing.connection
import os
import pickle
import socket
import tempfile


class RankError(Exception):
    """A rank failed; the text is the first line of what it says."""


class Ranks:
    """What a rank knows of the others. Without others, it agrees with itself."""

    def __init__(self, rank=0, size=1, device="cpu"):
        self.rank, self.size, self.device = rank, size, device

    def agree(self, value):
        """The number that the first rank has: all do the same number of steps."""
        if self.size == 1:
            return value
        import torch
        number = torch.tensor([float(value)], dtype=torch.float64, device=self.device)
        torch.distributed.broadcast(number, 0)
        return type(value)(number.item())


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def enter(rank, size, device, port, path, function, arguments):
    import torch
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank))
    found, error = None, None
    try:
        if device == "cuda":
            torch.cuda.set_device(rank)
        torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo", rank=rank, world_size=size)
        found = function(Ranks(rank, size, "cuda:%d" % rank if device == "cuda" else "cpu"), *arguments)
        torch.distributed.barrier()
    except BaseException as caught:     # whatever it is, the parent says it
        error = (str(caught).strip() or type(caught).__name__).splitlines()[0]
    if rank == 0 or error:
        with open("%s.%d" % (path, rank), "wb") as file:
            pickle.dump((found, error), file)
    os._exit(1 if error else 0)         # no rank waits for one that failed


def run(size, device, function, *arguments):
    """Call function(Ranks, *arguments) in `size` processes; returns what that of the first returned. A rank that fails ends all."""
    context, port = multiprocessing.get_context("spawn"), free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rank")
        ranks = [context.Process(target=enter, args=(i, size, device, port, path, function, arguments)) for i in range(size)]
        for process in ranks:
            process.start()
        waiting = list(ranks)
        while waiting:
            multiprocessing.connection.wait([process.sentinel for process in waiting])
            waiting = [process for process in waiting if process.exitcode is None]
            if any(process.exitcode for process in ranks):
                for process in waiting:
                    process.terminate()
        for process in ranks:
            process.join()
        answers = {}
        for i in range(size):
            if os.path.exists("%s.%d" % (path, i)):
                with open("%s.%d" % (path, i), "rb") as file:
                    answers[i] = pickle.load(file)
    errors = ["rank %d of %d: %s" % (i, size, error) for i, (found, error) in sorted(answers.items()) if error]
    if errors:
        raise RankError(errors[0])
    if 0 not in answers:
        raise RankError("the ranks ended with %s" % ", ".join(str(process.exitcode) for process in ranks))
    return answers[0][0]
