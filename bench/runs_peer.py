"""A small network on arrays in PyTorch, for `nudge bench runs`: its updates and its evaluation, in seconds.

Request: {"do": "time", "device": ..., "updates": n, "samples": n, "batch": n, "domains": n, ...}. The strongest form that is
simple to write: all samples are on the device as bytes, batches are gathered there by index, the update and the evaluation
of a batch are captured as CUDA graphs, Adam is fused. The network is DomainBed's for 28 x 28 pictures. The precision is PyTorch's
default: TF32 in convolutions, float32 elsewhere.
"""

import time

import torch
from torch import nn

from answer import answer_requests

EVALUATION_BATCHES = (256, 500, 1000, 2000, 4000)


class MnistCnn(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        sizes = [(channels, 64, 1), (64, 128, 2), (128, 128, 1), (128, 128, 1)]
        self.convs = nn.ModuleList([nn.Conv2d(a, b, 3, stride=s, padding=1) for a, b, s in sizes])
        self.norms = nn.ModuleList([nn.GroupNorm(8, b) for _, b, _ in sizes])
        self.classifier = nn.Linear(128, classes)

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = norm(torch.relu_(conv(x)))
        return self.classifier(x.mean((2, 3)))


def captured(device, body):
    """Returns a function that replays `body` as a CUDA graph, or `body` itself on the CPU."""
    if device == "cpu":
        return body
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            body()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return graph.replay


def timed(device, body):
    for _ in range(2):
        if device != "cpu":
            torch.cuda.synchronize()
        start = time.perf_counter()
        body()
        if device != "cpu":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    return seconds


def measure(request):
    device, count = request["device"], request["samples"]
    table = torch.randint(0, 256, (count, request["channels"], *request["size"]), dtype=torch.uint8, device=device)
    labels = torch.randint(0, request["classes"], (count,), device=device)
    network = MnistCnn(request["channels"], request["classes"]).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=request["lr"], fused=device != "cpu", capturable=device != "cpu")
    updates, rows = request["updates"], request["batch"] * request["domains"]
    drawn = torch.randint(0, count, (updates, rows), device=device)
    place = torch.zeros(1, dtype=torch.int64, device=device)
    total = torch.zeros((), device=device)

    def update():
        index = drawn.index_select(0, place).view(-1)
        x, y = table.index_select(0, index) / 255, labels.index_select(0, index)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())
        place.add_(1).remainder_(updates)

    step = captured(device, update)
    seconds = {"updates": timed(device, lambda: [step() for _ in range(updates)])}
    by_batch = {}
    for size in EVALUATION_BATCHES:
        first = torch.zeros(1, dtype=torch.int64, device=device)
        places = torch.arange(size, device=device)
        correct = torch.zeros((), dtype=torch.int64, device=device)

        def judge():
            with torch.no_grad():
                index = (places + first).clamp_(max=count - 1)
                predicted = network(table.index_select(0, index) / 255).argmax(1)
                correct.add_((predicted == labels.index_select(0, index)).sum())
                first.add_(size)

        batch = captured(device, judge)

        def evaluation():
            first.zero_()
            for _ in range(0, count, size):
                batch()
            return correct.item()

        by_batch[str(size)] = timed(device, evaluation)
        if device == "cpu":
            break
    return {**seconds, "evaluation": min(by_batch.values()), "byBatch": by_batch}


answer_requests(
    {
        "hello": lambda request: {"torch": torch.__version__, "python": __import__("platform").python_version()},
        "time": measure,
    }
)
