"""PyTorch's side of `nudge bench`: reads one JSON request a line, does it, answers with one JSON line.

Requests: {"do": "hello"}, {"do": "ops"}, {"do": "step", ...}, {"do": "run", "steps": n}, {"do": "svd", ...}, {"do": "memory"}.
"""

import resource
import sys
import time

import torch

from answer import answer_requests

try:
    import torchvision
except ImportError:
    torchvision = None

step = None
cuda = False


def sync():
    if cuda:
        torch.cuda.synchronize()


def hello(request):
    torch.set_num_threads(request["threads"])
    return {"torch": torch.__version__, "python": sys.version.split()[0], "torchvision": torchvision is not None}


def ops(request):
    """Nanoseconds of a 4x4 add without gradients: the best of some rounds."""
    a = torch.ones(4, 4, device=request["device"])
    best = float("inf")
    with torch.no_grad():
        for _ in range(request["rounds"]):
            start = time.perf_counter()
            for _ in range(request["calls"]):
                torch.add(a, a)
            best = min(best, (time.perf_counter() - start) / request["calls"])
    return {"ns": best * 1e9}


def freeze_batch_norm(model):
    """As the field fine-tunes: statistics fixed, weight and bias trained."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()


def without_head(name):
    """torchvision's network up to its features; the last layer norm of ConvNeXt is one of them."""
    if name == "vit_s_16":  # torchvision has the layers of this size, and no name for it
        model = torchvision.models.VisionTransformer(224, 16, 12, 6, 384, 1536)
    elif name == "resnet50_v1":  # the strides of the paper, which torchvision has elsewhere
        model = torchvision.models.resnet50(weights=None)
        for layer in (model.layer2, model.layer3, model.layer4):
            layer[0].conv1.stride, layer[0].conv2.stride = layer[0].conv2.stride, layer[0].conv1.stride
    else:
        model = getattr(torchvision.models, name)(weights=None)
    if hasattr(model, "heads"):
        model.heads = torch.nn.Identity()
    elif hasattr(model, "fc"):
        model.fc = torch.nn.Identity()
    elif name.startswith("convnext"):
        model.classifier[2] = torch.nn.Identity()
    else:
        model.classifier = torch.nn.Identity()
    return model


def captured(run):
    """The whole step as one CUDA graph; the steps before it, on another stream, compile and make Adam's moments."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def make_step(request):
    """One training step: forward, cross-entropy, zero_grad, backward, Adam.

    The variants: "eager", as DomainBed runs it; "bf16", with channels last and a fused Adam; "compile", torch.compile of
    that; "graph", the compiled step captured whole, optimizer included, which is the fastest that PyTorch has.
    """
    global step, cuda
    if torchvision is None:
        return {"error": "this Python has torch but no torchvision, which the step benchmark needs"}
    device, variant = request["device"], request["variant"]
    cuda = device.startswith("cuda")
    tuned = variant != "eager"
    layout = torch.channels_last if tuned else torch.contiguous_format
    torch.manual_seed(0)
    model = without_head(request["backbone"])
    with torch.no_grad():
        width = model.eval()(torch.zeros(1, 3, 224, 224)).shape[1]
    head = torch.nn.Linear(width, 7)
    network = torch.nn.Sequential(model, head).train().to(device, memory_format=layout)
    freeze_batch_norm(network)
    options = {"fused": True} if tuned and cuda else {}
    if variant == "graph":
        options["capturable"] = True
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-5, **options)
    x = torch.randn(request["batch"], 3, 224, 224, device=device).contiguous(memory_format=layout)
    y = torch.arange(request["batch"], device=device) % 7
    forward = torch.compile(network) if variant in ("compile", "graph") else network

    def run():
        # In a graph the casts of the weights must be captured too, not kept from an earlier step.
        with torch.autocast("cuda" if cuda else "cpu", dtype=torch.bfloat16, enabled=tuned, cache_enabled=variant != "graph"):
            loss = torch.nn.functional.cross_entropy(forward(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    step = captured(run) if variant == "graph" else run
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    return {}


def run(request):
    sync()
    start = time.perf_counter()
    for _ in range(request["steps"]):
        step()
    sync()
    return {"ms": (time.perf_counter() - start) / request["steps"] * 1e3}


def svd(request):
    """Milliseconds of the paper's two lines, forward and backward: the best of some rounds."""
    torch.manual_seed(0)
    f = torch.randn(request["rows"], request["columns"], device=request["device"], requires_grad=True)
    global cuda
    cuda = request["device"].startswith("cuda")
    best = float("inf")
    for _ in range(request["rounds"]):
        f.grad = None
        sync()
        start = time.perf_counter()
        torch.svd(f)[1].sum().backward()
        sync()
        best = min(best, time.perf_counter() - start)
    return {"ms": best * 1e3}


def memory(_request):
    if cuda:
        return {"peak": torch.cuda.max_memory_allocated()}
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


VERBS = {"hello": hello, "ops": ops, "step": make_step, "run": run, "svd": svd, "memory": memory}

answer_requests(VERBS)
