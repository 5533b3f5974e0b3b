/**
 * The parameter names of published vision transformers: torchvision's, timm's (also Meta's DINO and DINOv2), Hugging
 * Face's for ViT, DINOv2 and CLIP, and OpenAI's (also open_clip's). A file is recognized by one name that all files of
 * its kind contain, after any prefix (`module.`, `visual.`, `vision_model.`, `featurizer.network.`). Its tensors are
 * renamed to timm's names, which the network here uses.
 */

import { cat, zeros } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import type { PositionRule } from "../nn/position-embedding.js";

/**
 * Patterns of names and their replacements; null for tensors that do not affect the features. The first match applies.
 */
type Renaming = readonly (readonly [RegExp, string | null])[];

export interface NamingScheme {
  readonly id: "torchvision" | "timm" | "hugging-face" | "openai" | "hugging-face-clip";
  readonly title: string;
  /** A name that every file of this kind contains. */
  readonly sign: string;
  readonly names: Renaming;
}

const block = "blocks.$1.";

const TORCHVISION: Renaming = [
  [/^class_token$/, "cls_token"],
  [/^encoder\.pos_embedding$/, "pos_embed"],
  [/^conv_proj\./, "patch_embed.proj."],
  [/^encoder\.layers\.encoder_layer_(\d+)\.ln_1\./, `${block}norm1.`],
  [/^encoder\.layers\.encoder_layer_(\d+)\.self_attention\.in_proj_(weight|bias)$/, `${block}attn.qkv.$2`],
  [/^encoder\.layers\.encoder_layer_(\d+)\.self_attention\.out_proj\./, `${block}attn.proj.`],
  [/^encoder\.layers\.encoder_layer_(\d+)\.ln_2\./, `${block}norm2.`],
  [/^encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:0|linear_1)\./, `${block}mlp.fc1.`],
  [/^encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:3|linear_2)\./, `${block}mlp.fc2.`],
  [/^encoder\.ln\./, "norm."],
  [/^heads\./, null],
];

const TIMM: Renaming = [
  [/^blocks\.\d+\.(\d+)\./, block], // Meta's training checkpoints group blocks in chunks
  [/^reg_token$/, "register_tokens"],
  [/^(mask_token$|pre_logits\.|head\.|head_dist\.|fc\.|dist_token$)/, null],
];

const HUGGING_FACE: Renaming = [
  [/^embeddings\.cls_token$/, "cls_token"],
  [/^embeddings\.position_embeddings$/, "pos_embed"],
  [/^embeddings\.register_tokens$/, "register_tokens"],
  [/^embeddings\.mask_token$/, null],
  [/^embeddings\.patch_embeddings\.projection\./, "patch_embed.proj."],
  [/^(?:encoder\.)?layers?\.(\d+)\.(?:layernorm_before|norm1)\./, `${block}norm1.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.(?:layernorm_after|norm2)\./, `${block}norm2.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.attention\.(?:attention\.)?(?:query|q_proj)\./, `${block}attn.q.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.attention\.(?:attention\.)?(?:key|k_proj)\./, `${block}attn.k.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.attention\.(?:attention\.)?(?:value|v_proj)\./, `${block}attn.v.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.attention\.(?:output\.dense|o_proj)\./, `${block}attn.proj.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.(?:intermediate\.dense|mlp\.fc1)\./, `${block}mlp.fc1.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.(?:output\.dense|mlp\.fc2)\./, `${block}mlp.fc2.`],
  [/^(?:encoder\.)?layers?\.(\d+)\.layer_scale([12])\.lambda1$/, `${block}ls$2.gamma`],
  [/^layernorm\./, "norm."],
  [/^pooler\./, null],
];

const OPENAI: Renaming = [
  [/^class_embedding$/, "cls_token"],
  [/^positional_embedding$/, "pos_embed"],
  [/^conv1\.weight$/, "patch_embed.proj.weight"],
  [/^ln_pre\./, "norm_pre."],
  [/^ln_post\./, "norm."],
  [/^transformer\.resblocks\.(\d+)\.attn\.in_proj_(weight|bias)$/, `${block}attn.qkv.$2`],
  [/^transformer\.resblocks\.(\d+)\.attn\.out_proj\./, `${block}attn.proj.`],
  [/^transformer\.resblocks\.(\d+)\.ln_([12])\./, `${block}norm$2.`],
  [/^transformer\.resblocks\.(\d+)\.mlp\.c_fc\./, `${block}mlp.fc1.`],
  [/^transformer\.resblocks\.(\d+)\.mlp\.c_proj\./, `${block}mlp.fc2.`],
];

const HUGGING_FACE_CLIP: Renaming = [
  [/^embeddings\.class_embedding$/, "cls_token"],
  [/^embeddings\.position_embedding\.weight$/, "pos_embed"],
  [/^embeddings\.position_ids$/, null],
  [/^embeddings\.patch_embedding\.weight$/, "patch_embed.proj.weight"],
  [/^pre_layrnorm\./, "norm_pre."], // the spelling in the files
  [/^post_layernorm\./, "norm."],
  [/^encoder\.layers\.(\d+)\.layer_norm([12])\./, `${block}norm$2.`],
  [/^encoder\.layers\.(\d+)\.self_attn\.([qkv])_proj\./, `${block}attn.$2.`],
  [/^encoder\.layers\.(\d+)\.self_attn\.out_proj\./, `${block}attn.proj.`],
  [/^encoder\.layers\.(\d+)\.mlp\.(fc[12])\./, `${block}mlp.$2.`],
];

export const NAMING_SCHEMES: readonly NamingScheme[] = [
  { id: "torchvision", title: "torchvision's ViT", sign: "encoder.pos_embedding", names: TORCHVISION },
  { id: "openai", title: "OpenAI's CLIP", sign: "class_embedding", names: OPENAI },
  {
    id: "hugging-face-clip",
    title: "Hugging Face's CLIP",
    sign: "embeddings.class_embedding",
    names: HUGGING_FACE_CLIP,
  },
  {
    id: "hugging-face",
    title: "Hugging Face's ViT",
    sign: "embeddings.patch_embeddings.projection.weight",
    names: HUGGING_FACE,
  },
  { id: "timm", title: "timm's ViT", sign: "patch_embed.proj.weight", names: TIMM },
];

/** Returns the publisher's method for resizing position embeddings, for a network with or without registers. */
export function positionRule(
  { id }: NamingScheme,
  { dinov2, registers }: { dinov2: boolean; registers: boolean },
): PositionRule {
  if (id === "torchvision") return "torchvision";
  if (id === "hugging-face") return registers ? "timm" : "hugging-face";
  if (id === "hugging-face-clip") return "hugging-face";
  return dinov2 && !registers ? "dinov2" : "timm";
}

/** Returns the naming scheme of a file and the prefix of its names, or undefined if it is no vision transformer. */
export function schemeOf(names: Iterable<string>): { scheme: NamingScheme; prefix: string } | undefined {
  const all = [...names];
  for (const scheme of NAMING_SCHEMES) {
    const sign = all.find((name) => name === scheme.sign || name.endsWith(`.${scheme.sign}`));
    if (sign === undefined) continue;
    const prefix = sign.slice(0, sign.length - scheme.sign.length);
    // OpenAI's name is also the end of Hugging Face's, and a ResNet's "conv1" must not be mistaken for the patch
    // embedding.
    if (scheme.id === "openai" && (prefix.endsWith("embeddings.") || !all.includes(`${prefix}ln_pre.weight`))) continue;
    return { scheme, prefix };
  }
  return undefined;
}

/**
 * Converts a name in a file to the name in the network here. Returns null if the tensor is not needed, and undefined if
 * it belongs to something else.
 */
export function renamed(
  name: string,
  { scheme, prefix }: { scheme: NamingScheme; prefix: string },
): string | null | undefined {
  // CLIP's projection is next to the image tower in Hugging Face's files, inside it in others, and the head in timm's.
  if (scheme.id === "hugging-face-clip" && name === "visual_projection.weight") return "projection.weight";
  if (!name.startsWith(prefix)) return undefined;
  const own = name.slice(prefix.length);
  if (scheme.id === "openai" && own === "proj") return "proj";
  if (scheme.id === "timm" && own === "head.weight") return "head.weight"; // CLIP's projection, or a classifier
  for (const [pattern, target] of scheme.names)
    if (pattern.test(own)) return target === null ? null : own.replace(pattern, target);
  return own;
}

/**
 * Converts a file's tensors to the names of the network here, with q, k and v in one matrix and CLIP's projection as a
 * linear layer.
 */
export function namedAsTransformer(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const found = schemeOf(tensors.keys());
  if (!found) return new Map(tensors);
  const state = new Map<string, Tensor>();
  for (const [name, tensor] of tensors) {
    const own = renamed(name, found);
    if (typeof own === "string") state.set(own, tensor);
  }
  joinAttention(state);
  const isClip = state.has("norm_pre.weight");
  const [proj, head] = [state.get("proj"), state.get("head.weight")];
  state.delete("proj");
  state.delete("head.weight");
  if (proj) state.set("projection.weight", proj.t().contiguous());
  else if (isClip && head) state.set("projection.weight", head);
  asShaped(state, "cls_token", 3);
  asShaped(state, "pos_embed", 3);
  addClassPosition(state);
  return state;
}

/** Joins q, k and v of a block into one tensor, as the network here uses them. */
function joinAttention(state: Map<string, Tensor>): void {
  for (const name of [...state.keys()]) {
    const match = /^(blocks\.\d+\.attn\.)q\.(weight|bias)$/.exec(name);
    if (!match) continue;
    const [, before, kind] = match;
    const names = ["q", "k", "v"].map((part) => `${before}${part}.${kind}`);
    const parts = names.flatMap((each) => state.get(each) ?? []);
    if (parts.length < 3) continue; // the loader reports missing tensors
    for (const each of names) state.delete(each);
    state.set(`${before}qkv.${kind}`, cat(parts, 0));
  }
}

/** Adds leading dimensions of size 1 if the file has fewer dimensions. */
function asShaped(state: Map<string, Tensor>, name: string, dimensions: number): void {
  let tensor = state.get(name);
  while (tensor && tensor.shape.length < dimensions) tensor = tensor.unsqueeze(0);
  if (tensor) state.set(name, tensor);
}

/** In timm's files of networks with registers, the position of the class token is already added to the token. */
function addClassPosition(state: Map<string, Tensor>): void {
  const positions = state.get("pos_embed");
  if (!state.has("register_tokens") || positions?.shape.length !== 3) return;
  const [, rows, width] = positions.shape;
  if (!Number.isInteger(Math.sqrt(rows))) return;
  state.set("pos_embed", cat([zeros([1, 1, width], { dtype: positions.dtype }), positions], 1));
}
