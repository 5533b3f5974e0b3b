"""DomainBed's training loop in PyTorch, for `nudge bench train`: reads one JSON request a line, answers with one JSON line.

Requests: {"do": "hello"}, {"do": "open", "domains": [...], "backbone": ..., ...}, {"do": "time", "steps": n}.
Written from a description of that loop: a loader with worker processes for each training domain, drawing with replacement
without end; PIL and torchvision augmentation in the workers; the model in float32, eager, with frozen batch norm; Adam; the
loss read after every step; evaluation of every split in shuffled batches of 64, accuracy by argmax, read after every batch.
With a penalty, the two lines of the paper: torch.svd of the features, and the sum of its singular values.
"""

import sys
import time

import torch
import torchvision
from PIL import Image
from torchvision import transforms as T

from answer import answer_requests
from augmentation import AUGMENT, NORMALIZE

PLAIN = T.Compose([T.Resize((224, 224)), T.ToTensor(), NORMALIZE])
EVALUATION_BATCH = 64
PREFETCH = 2  # batches that a worker prepares ahead, as a DataLoader has it unless told


class Pictures(torch.utils.data.Dataset):
    def __init__(self, split, transform):
        self.paths, self.labels, self.transform = split["paths"], split["labels"], transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with open(self.paths[i], "rb") as file:
            return self.transform(Image.open(file).convert("RGB")), self.labels[i]


class EndlessBatches(torch.utils.data.Sampler):
    """Batches drawn with replacement, without end."""

    def __init__(self, length, batch):
        self.length, self.batch = length, batch

    def __iter__(self):
        while True:
            yield torch.randint(self.length, (self.batch,)).tolist()


class Training:
    def __init__(self, request):
        self.device = request["device"]
        self.workers, self.penalty = request["workers"], request["penalty"]
        torch.manual_seed(0)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
        self.features, width = backbone(request["backbone"])
        self.classifier = torch.nn.Linear(width, request["classes"])
        self.network = torch.nn.Sequential(self.features, self.classifier).to(self.device)
        self.train_mode()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=request["lr"], weight_decay=0)
        datasets = [
            [Pictures(split, AUGMENT if domain["trains"] else PLAIN) for split in domain["splits"]]
            for domain in request["domains"]
        ]
        training = [splits[0] for splits, domain in zip(datasets, request["domains"]) if domain["trains"]]
        self.batches = [iter(self.endless(pictures, request["batch"])) for pictures in training]
        # The workers of all loaders start once and stay.
        self.splits = [
            torch.utils.data.DataLoader(
                pictures,
                batch_size=EVALUATION_BATCH,
                shuffle=True,
                num_workers=self.workers,
                persistent_workers=self.workers > 0,
            )
            for splits in datasets
            for pictures in splits
            if len(pictures) > 0
        ]

    def endless(self, pictures, batch):
        return torch.utils.data.DataLoader(
            pictures, batch_sampler=EndlessBatches(len(pictures), batch), num_workers=self.workers
        )

    def train_mode(self):
        """As the field fine-tunes: batch norm's statistics fixed, its weight and bias trained."""
        self.network.train()
        for module in self.network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.eval()

    def step(self):
        parts = [tuple(tensor.to(self.device) for tensor in next(batches)) for batches in self.batches]
        x = torch.cat([part[0] for part in parts])
        y = torch.cat([part[1] for part in parts])
        features = self.features(x)
        loss = torch.nn.functional.cross_entropy(self.classifier(features), y)
        if self.penalty > 0:
            singular_values = torch.svd(features)[1]
            loss = loss + self.penalty / len(x) * singular_values.sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def evaluate(self):
        self.network.eval()
        accuracies = []
        with torch.no_grad():
            for split in self.splits:
                correct = count = 0
                for x, y in split:
                    predicted = self.network(x.to(self.device)).argmax(1)
                    correct += predicted.eq(y.to(self.device)).float().sum().item()
                    count += len(x)
                accuracies.append(correct / count)
        self.train_mode()
        return accuracies

    def sync(self):
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()


def backbone(name):
    """A torchvision model without its classifier, and how many features it has."""
    model = getattr(torchvision.models, name)(weights=None)
    if hasattr(model, "fc"):
        width = model.fc.in_features
        model.fc = torch.nn.Identity()
    else:
        width = model.classifier[1].in_features
        model.classifier = torch.nn.Identity()
    return model, width


training = None


def hello(request):
    torch.set_num_threads(request["threads"])
    return {"torch": torch.__version__, "python": sys.version.split()[0]}


def open_training(request):
    global training
    training = Training(request)
    return {}


def time_training(request):
    training.evaluate()  # starts the workers, and the files are in the system's cache
    # Past the batches that the queues held before: after that a step takes as long as its batch.
    for _ in range(max(10, PREFETCH * training.workers + 4)):
        training.step()
    training.sync()
    start = time.perf_counter()
    for _ in range(request["steps"]):
        training.step()
    training.sync()
    step_ms = (time.perf_counter() - start) / request["steps"] * 1e3
    training.batches = []  # its workers end: none of them works beside the evaluation
    start = time.perf_counter()
    training.evaluate()
    training.sync()
    return {"stepMs": step_ms, "evaluationSeconds": time.perf_counter() - start}


VERBS = {"hello": hello, "open": open_training, "time": time_training}

if __name__ == "__main__":
    answer_requests(VERBS)
