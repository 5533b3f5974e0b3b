"""Makes transformers/: small vision transformers in files under every published naming, and transformers.safetensors: their
features at three picture sizes, gradients and five updates, in float64.

ViT is torchvision's own module. DINOv2 and CLIP are computed here from their papers: attention head by head for DINOv2, and
torch.nn.MultiheadAttention for CLIP. Weights are random throughout, also those that start as 0 or 1. Run:
python3 tests/vectors/transformers.py
"""

import json
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.models.vision_transformer import VisionTransformer, interpolate_embeddings

from formula import fill, formula
from safetensors_writer import save

HERE = pathlib.Path(__file__).parent
FILES = HERE / "transformers"
WIDTH, HEADS, DEPTH, PATCH, SIDE, PROJECTION = 8, 2, 4, 4, 12, 6
OTHER_SIZES, CLASSES, RATE, UPDATES, SHOWN = (20, 8), 5, 0.05, 5, 6
stored, names = {}, {}
torch.manual_seed(7)


def randomise(module):
    for name, parameter in module.named_parameters():
        with torch.no_grad():
            if parameter.dim() == 0:
                continue
            if parameter.dim() < 2 and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
            elif "gamma" in name:
                parameter.uniform_(0.5, 1)
            elif parameter.dim() < 2 and name.endswith("bias"):
                parameter.normal_(0, 0.05)
            elif "token" in name or "embed" in name or "pos" in name:
                parameter.normal_(0, 0.5)
            else:
                parameter.normal_(0, 1.5 / math.sqrt(parameter[0].numel()))
    return module


class Attention(nn.Module):
    """One head after the other, as the formula has it."""

    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(x).split(WIDTH, dim=-1)
        d, heads = WIDTH // HEADS, []
        for h in range(HEADS):
            part = slice(h * d, (h + 1) * d)
            scores = torch.einsum("nid,njd->nij", q[..., part], k[..., part]) / d**0.5
            heads.append(torch.einsum("nij,njd->nid", scores.softmax(-1), v[..., part]))
        return self.proj(torch.cat(heads, -1))


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(WIDTH))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = self.fc1(x)
        return self.fc2(x * 0.5 * (1 + torch.erf(x / 2**0.5)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attn, self.ls1 = nn.LayerNorm(WIDTH, 1e-6), Attention(), Scale()
        self.norm2, self.mlp, self.ls2 = nn.LayerNorm(WIDTH, 1e-6), Mlp(), Scale()

    def forward(self, x):
        x = x + self.ls1.gamma * self.attn(self.norm1(x))
        return x + self.ls2.gamma * self.mlp(self.norm2(x))


class Patches(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, WIDTH, PATCH, PATCH)


class DinoV2(nn.Module):
    def __init__(self, registers):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (SIDE // PATCH) ** 2, WIDTH))
        self.register_tokens = nn.Parameter(torch.zeros(1, registers, WIDTH)) if registers else None
        self.mask_token = nn.Parameter(torch.zeros(1, WIDTH))
        self.patch_embed = Patches()
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH, 1e-6)

    def positions(self, grid):
        old = SIDE // PATCH
        if grid == old:
            return self.pos_embed
        first, rest = self.pos_embed[:, :1], self.pos_embed[:, 1:]
        rest = rest.reshape(1, old, old, WIDTH).permute(0, 3, 1, 2)
        if self.register_tokens is None:
            factor = (grid + 0.1) / old
            rest = F.interpolate(rest, scale_factor=(factor, factor), mode="bicubic")
        else:
            rest = F.interpolate(rest, size=(grid, grid), mode="bicubic", antialias=True)
        return torch.cat([first, rest.permute(0, 2, 3, 1).reshape(1, grid * grid, WIDTH)], 1)

    def forward(self, x):
        n, grid = len(x), x.shape[-1] // PATCH
        tokens = self.patch_embed.proj(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(n, -1, -1), tokens], 1) + self.positions(grid)
        if self.register_tokens is not None:
            tokens = torch.cat([tokens[:, :1], self.register_tokens.expand(n, -1, -1), tokens[:, 1:]], 1)
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens)[:, 0]


class QuickGelu(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class ClipBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential()
        self.mlp.add_module("c_fc", nn.Linear(WIDTH, 4 * WIDTH))
        self.mlp.add_module("gelu", QuickGelu())
        self.mlp.add_module("c_proj", nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Resblocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.resblocks = nn.Sequential(*[ClipBlock() for _ in range(DEPTH)])


class ClipVisual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTH, PATCH, PATCH, bias=False)
        self.class_embedding = nn.Parameter(torch.zeros(WIDTH))
        self.positional_embedding = nn.Parameter(torch.zeros(1 + (SIDE // PATCH) ** 2, WIDTH))
        self.ln_pre, self.transformer, self.ln_post = nn.LayerNorm(WIDTH), Resblocks(), nn.LayerNorm(WIDTH)
        self.proj = nn.Parameter(torch.zeros(WIDTH, PROJECTION))

    def forward(self, x):
        positions, grid, old = self.positional_embedding, x.shape[-1] // PATCH, SIDE // PATCH
        if grid != old:
            rest = positions[1:].reshape(1, old, old, WIDTH).permute(0, 3, 1, 2)
            rest = F.interpolate(rest, size=(grid, grid), mode="bicubic", antialias=True)
            positions = torch.cat([positions[:1], rest.permute(0, 2, 3, 1).reshape(-1, WIDTH)])
        tokens = self.conv1(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_embedding.expand(len(x), 1, WIDTH), tokens], 1) + positions
        tokens = self.transformer.resblocks(self.ln_pre(tokens))
        return self.ln_post(tokens[:, 0]) @ self.proj


class Clip(nn.Module):
    """With the scalars and the text tower that a file of CLIP has besides."""

    def __init__(self):
        super().__init__()
        self.visual = ClipVisual()
        self.transformer = Resblocks()
        self.positional_embedding = nn.Parameter(torch.randn(7, WIDTH))
        self.logit_scale = nn.Parameter(torch.tensor(4.6))
        self.register_buffer("input_resolution", torch.tensor(SIDE))

    def forward(self, x):
        return self.visual(x)


def vit():
    return VisionTransformer(SIDE, PATCH, DEPTH, HEADS, WIDTH, 4 * WIDTH, num_classes=CLASSES)


def of_torchvision(name):
    """Our name of torchvision's."""
    for old, new in [("class_token", "cls_token"), ("encoder.pos_embedding", "pos_embed"), ("conv_proj", "patch_embed.proj"),
                     ("encoder.layers.encoder_layer_", "blocks."), ("ln_1", "norm1"), ("ln_2", "norm2"),
                     ("self_attention.in_proj_", "attn.qkv."), ("self_attention.out_proj", "attn.proj"),
                     ("mlp.0", "mlp.fc1"), ("mlp.3", "mlp.fc2"), ("encoder.ln", "norm")]:
        name = name.replace(old, new)
    return name


def of_clip(name):
    name = name.replace("visual.", "")
    for old, new in [("class_embedding", "cls_token"), ("positional_embedding", "pos_embed"), ("conv1", "patch_embed.proj"),
                     ("ln_pre", "norm_pre"), ("ln_post", "norm"), ("transformer.resblocks", "blocks"), ("ln_1", "norm1"),
                     ("ln_2", "norm2"), ("attn.in_proj_", "attn.qkv."), ("attn.out_proj", "attn.proj"), ("c_fc", "fc1"),
                     ("c_proj", "fc2")]:
        name = name.replace(old, new)
    return "projection.weight" if name == "proj" else name


def row(value):
    flat = value.detach().double().reshape(-1)
    first = flat[:SHOWN].tolist()
    return [flat.abs().mean().item(), flat.mean().item(), *first, *[0] * (SHOWN - len(first))]


def picture(size):
    return formula(f"x{size}", (3, 3, size, size), 2)


def record(case, network, rename, features_at=None):
    """Features at all sizes, the gradients of a loss, and what five updates make of the weights; the network is changed."""
    network.double().train()
    for size in (SIDE, *OTHER_SIZES):
        with torch.no_grad():
            features = (features_at or (lambda x: network(x)))(picture(size))
        assert features.std() > 0.05, case
        stored[f"{case}/features{size}"] = features
    head = fill(nn.Linear(features.shape[1], CLASSES).double(), "head.")
    x, y, losses = picture(SIDE), torch.tensor([0, 1, 2]), []
    for update in range(UPDATES):
        network.zero_grad(), head.zero_grad()
        loss = F.cross_entropy(head(network(x)), y)
        loss.backward()
        losses.append(loss.item())
        used = {rename(name): p for name, p in network.named_parameters() if p.grad is not None}
        rowed = lambda p, value: row(value.t() if rename(p) == "projection.weight" else value)
        if update == 0:
            stored[f"{case}/gradients"] = torch.tensor([rowed(n, p.grad) for n, p in used_names(network)], dtype=torch.float64)
            names[case] = list(used)
        with torch.no_grad():
            for parameter in (*network.parameters(), *head.parameters()):
                if parameter.grad is not None:
                    parameter -= RATE * parameter.grad
    stored[f"{case}/parameters"] = torch.tensor([rowed(n, p) for n, p in used_names(network)], dtype=torch.float64)
    stored[f"{case}/losses"] = torch.tensor(losses, dtype=torch.float64)


def used_names(network):
    return [(name, p) for name, p in network.named_parameters() if p.grad is not None]


def hugging_face(state, dino):
    """DINOv2's or ViT's tensors as Hugging Face's files have them."""
    out = {}
    for name, value in state.items():
        name = name.replace("blocks.", "encoder.layer.")
        for part in ("cls_token", "mask_token", "register_tokens"):
            name = f"embeddings.{part}" if name == part else name
        name = "embeddings.position_embeddings" if name == "pos_embed" else name
        name = name.replace("patch_embed.proj", "embeddings.patch_embeddings.projection").replace("attn.proj", "attention.output.dense")
        name = name.replace("ls1.gamma", "layer_scale1.lambda1").replace("ls2.gamma", "layer_scale2.lambda1")
        if name.startswith("norm."):
            name = name.replace("norm.", "layernorm.")
        if not dino:
            name = name.replace("norm1", "layernorm_before").replace("norm2", "layernorm_after")
            name = name.replace("mlp.fc1", "intermediate.dense").replace("mlp.fc2", "output.dense")
        if "attn.qkv" in name:
            for part, piece in zip(("query", "key", "value"), value.chunk(3)):
                out[name.replace("attn.qkv", f"attention.attention.{part}")] = piece
        else:
            out[name] = value
    return out


def main():
    FILES.mkdir(exist_ok=True)
    network = randomise(vit())
    state = network.state_dict()
    torch.save(state, FILES / "vit-torchvision.pth")
    own = {of_torchvision(name): value for name, value in state.items()}
    head = {"head.weight": own.pop("heads.head.weight"), "head.bias": own.pop("heads.head.bias")}
    save(FILES / "vit-timm.safetensors", {**own, **head})
    face = {f"vit.{name}": value for name, value in hugging_face(own, dino=False).items()}
    save(FILES / "vit-hugging-face.safetensors", {**face, "classifier.weight": head["head.weight"]})

    def at(x):
        resized = VisionTransformer(x.shape[-1], PATCH, DEPTH, HEADS, WIDTH, 4 * WIDTH, num_classes=CLASSES).double()
        positions = interpolate_embeddings(x.shape[-1], PATCH, {k: v.double() for k, v in state.items()})
        resized.load_state_dict(positions)
        resized.heads = nn.Identity()
        return resized(x)

    network.heads = nn.Identity()
    record("vit", network, of_torchvision, at)

    for registers in (0, 4):
        case = "dinov2-registers" if registers else "dinov2"
        network = randomise(DinoV2(registers))
        state = network.state_dict()
        torch.save(state, FILES / f"{case}-meta.pth")
        save(FILES / f"{case}-hugging-face.safetensors", hugging_face(state, dino=True))
        if registers:
            timm = {**state, "reg_token": state["register_tokens"], "pos_embed": state["pos_embed"][:, 1:]}
            timm["cls_token"] = state["cls_token"] + state["pos_embed"][:, :1]
            del timm["register_tokens"], timm["mask_token"]
            save(FILES / f"{case}-timm.safetensors", timm)
        record(case, network, lambda name: name)

    # Weights that float16 holds exactly, so that OpenAI's half-precision file is the same network.
    network = randomise(Clip())
    network.load_state_dict({name: value.half().float() if value.is_floating_point() else value for name, value in network.state_dict().items()})
    state = network.state_dict()
    with torch.no_grad():
        script = torch.jit.trace(network.eval(), torch.zeros(1, 3, SIDE, SIDE), check_trace=False)
    script.half().save(str(FILES / "clip-openai.pt"))
    torch.save({name: value.half() for name, value in state.items()}, FILES / "clip-open-clip.pth")
    visual = {of_clip(name): value for name, value in state.items() if name.startswith("visual.")}
    face = {"visual_projection.weight": visual["projection.weight"].t(), "logit_scale": state["logit_scale"]}
    tower = hugging_face({k: v for k, v in visual.items() if "norm" not in k or k.startswith("blocks.")}, dino=True)
    for name, value in tower.items():
        name = name.replace("embeddings.cls_token", "embeddings.class_embedding")
        name = name.replace("embeddings.position_embeddings", "embeddings.position_embedding.weight")
        name = name.replace("embeddings.patch_embeddings.projection", "embeddings.patch_embedding").replace("encoder.layer.", "encoder.layers.")
        for part in ("query", "key", "value"):
            name = name.replace(f"attention.attention.{part}", f"self_attn.{part[0]}_proj")
        name = name.replace("attention.output.dense", "self_attn.out_proj").replace("norm1", "layer_norm1").replace("norm2", "layer_norm2")
        if name != "projection.weight":
            face[f"vision_model.{name}"] = value
    for ours, theirs in (("norm_pre", "pre_layrnorm"), ("norm", "post_layernorm")):
        for kind in ("weight", "bias"):
            face[f"vision_model.{theirs}.{kind}"] = visual[f"{ours}.{kind}"]
    face["vision_model.embeddings.position_ids"] = torch.arange(10).reshape(1, -1)
    save(FILES / "clip-hugging-face.safetensors", {k: v.contiguous() for k, v in face.items()})
    timm = {k: v for k, v in visual.items() if k != "projection.weight"}
    timm = {**timm, "cls_token": visual["cls_token"].reshape(1, 1, -1), "pos_embed": visual["pos_embed"][None]}
    save(FILES / "clip-timm.safetensors", {**timm, "head.weight": visual["projection.weight"].t().contiguous()})
    record("clip", network.train(), of_clip)
    save(HERE / "transformers.safetensors", stored, {"names": json.dumps(names)})


main()
