"""A logit adjustment by the frequencies of classes in the minibatches (Menon et al., 2021, https://arxiv.org/abs/2007.07314,
Equation 10), in DomainBed's manner, of which parity_logit_adjustment.safetensors was recorded:

    python3 scripts/porting/record_parity.py tests/vectors/logit_adjustment.py:LogitAdjustment --id logit-adjustment \\
      --hparams '{"lr": 0.01, "adjustment": 1}' --out tests/vectors/parity_logit_adjustment.safetensors

Where all classes are equally frequent, the adjustment is the same for all logits and changes no loss, whatever its factor is.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.input, self.output = nn.Linear(inputs, width), nn.Linear(width, width)
        self.hiddens = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x):
        return self.output(self.hiddens[0](self.input(x).relu()).relu())


class LogitAdjustment(nn.Module):
    def __init__(self, input_shape, num_classes, num_domains, hparams):
        super().__init__()
        self.featurizer, self.classifier = Mlp(input_shape[0], hparams["mlp_width"]), nn.Linear(hparams["mlp_width"], num_classes)
        self.classes, self.factor = num_classes, hparams["adjustment"]
        self.optimizer = torch.optim.Adam(self.parameters(), lr=hparams["lr"])

    def update(self, minibatches, unlabeled=None):
        x, y = torch.cat([x for x, _ in minibatches]), torch.cat([y for _, y in minibatches])
        prior = y.bincount(minlength=self.classes) / len(y)
        loss = F.cross_entropy(self.predict(x) + self.factor * prior.log(), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.item()}

    def predict(self, x):
        return self.classifier(self.featurizer(x))
