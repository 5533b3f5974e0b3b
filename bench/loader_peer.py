"""torchvision's side of `nudge bench loader`: reads one JSON request a line, does it, answers with one JSON line.

Requests: {"do": "hello"}, {"do": "open", "paths": [...], "batch": n, "workers": n}, {"do": "run", "batches": n}.
The pipeline is the field's: PIL decodes, RandomResizedCrop, flip, ColorJitter, RandomGrayscale, ToTensor, Normalize, in the
worker processes of a DataLoader, pictures drawn with replacement.
"""

import sys
import time

import torch
from PIL import Image

from answer import answer_requests
from augmentation import AUGMENT


class Pictures(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with open(self.paths[i], "rb") as file:
            return AUGMENT(Image.open(file).convert("RGB"))


class Sampler(torch.utils.data.Sampler):
    """Draws with replacement, as many as the next run wants: workers then rest until the one after."""

    def __init__(self, length, batch):
        self.length, self.batch, self.batches = length, batch, 0

    def __iter__(self):
        for _ in range(self.batches):
            yield torch.randint(self.length, (self.batch,)).tolist()

    def __len__(self):
        return self.batches


loader = None
sampler = None


def hello(request):
    torch.set_num_threads(request["threads"])
    return {"torch": torch.__version__, "python": sys.version.split()[0]}


def open_pictures(request):
    global loader, sampler
    pictures = Pictures(request["paths"])
    sampler = Sampler(len(pictures), request["batch"])
    workers = request["workers"]
    loader = torch.utils.data.DataLoader(pictures, batch_sampler=sampler, num_workers=workers, persistent_workers=workers > 0)
    return {}


def run(request):
    sampler.batches = request["batches"]
    pictures = 0
    start = time.perf_counter()
    for x in loader:
        pictures += len(x)
    return {"rate": pictures / (time.perf_counter() - start)}


VERBS = {"hello": hello, "open": open_pictures, "run": run}

if __name__ == "__main__":
    answer_requests(VERBS)
