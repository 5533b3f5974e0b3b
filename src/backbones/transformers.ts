/** Vision transformers as backbones: ViT, DINOv2 and the image towers of CLIP. */

import { defineBackbone } from "./backbone.js";
import { featuresOf, parametersOf, TRANSFORMERS, type TransformerId } from "./transformer-layouts.js";
import { VisionTransformer } from "./vision-transformer.js";

const PAPERS = {
  vit: "Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021, https://arxiv.org/abs/2010.11929",
  dinov2:
    "Oquab et al., DINOv2: Learning Robust Visual Features without Supervision, 2023, https://arxiv.org/abs/2304.07193",
  registers: "Darcet et al., Vision Transformers Need Registers, ICLR 2024, https://arxiv.org/abs/2309.16588",
  clip: "Radford et al., Learning Transferable Visual Models From Natural Language Supervision, ICML 2021, https://arxiv.org/abs/2103.00020",
} as const;

const define = (id: TransformerId, title: string, paper: keyof typeof PAPERS, weights: string) =>
  defineBackbone({
    id,
    title,
    paper: PAPERS[paper],
    weights,
    width: featuresOf(TRANSFORMERS[id]),
    parameters: parametersOf(TRANSFORMERS[id], 224),
    blocks: TRANSFORMERS[id].depth,
    stochasticDepth: true,
    // DINOv2 is published for pictures of 518 pixels, and used with 224 pixels, as in DomainBed.
    build: (options = {}) =>
      new VisionTransformer(id, TRANSFORMERS[id], {
        ...options,
        inputShape: options.inputShape ?? [options.inputChannels ?? 3, 224, 224],
      }),
  });

const from = (publishers: string) => `the weights of ${publishers}: a .pth, .pt or .safetensors file as published`;
const ofVit = from("torchvision, timm or Hugging Face");
const ofDino = from("Meta, timm or Hugging Face");
const ofClip = from("OpenAI, open_clip, timm or Hugging Face");

export const vitS16 = define("vit_s_16", "ViT-S/16", "vit", from("timm or Hugging Face"));
export const vitB16 = define("vit_b_16", "ViT-B/16", "vit", ofVit);
export const vitB32 = define("vit_b_32", "ViT-B/32", "vit", ofVit);
export const vitL16 = define("vit_l_16", "ViT-L/16", "vit", ofVit);
export const dinov2S14 = define("dinov2_vits14", "DINOv2 ViT-S/14", "dinov2", ofDino);
export const dinov2B14 = define("dinov2_vitb14", "DINOv2 ViT-B/14", "dinov2", ofDino);
export const dinov2L14 = define("dinov2_vitl14", "DINOv2 ViT-L/14", "dinov2", ofDino);
export const dinov2S14Reg = define("dinov2_vits14_reg", "DINOv2 ViT-S/14 with registers", "registers", ofDino);
export const dinov2B14Reg = define("dinov2_vitb14_reg", "DINOv2 ViT-B/14 with registers", "registers", ofDino);
export const dinov2L14Reg = define("dinov2_vitl14_reg", "DINOv2 ViT-L/14 with registers", "registers", ofDino);
export const clipB32 = define("clip_vit_b_32", "CLIP ViT-B/32", "clip", ofClip);
export const clipB16 = define("clip_vit_b_16", "CLIP ViT-B/16", "clip", ofClip);
export const clipL14 = define("clip_vit_l_14", "CLIP ViT-L/14", "clip", ofClip);
