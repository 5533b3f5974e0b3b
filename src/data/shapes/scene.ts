/**
 * The content of a picture before drawing: position, rotation and colors of the shape, and the wallpaper behind it.
 *
 * Lengths are fractions of the picture's side and independent of the size in pixels, so a picture is the same scene at
 * every size. Each picture has its own random stream, derived from seed, domain, label and index, and the number of
 * draws does not depend on the settings: changing the cue changes the wallpapers but not the shapes.
 */
import { keyedRandom } from "../../engine/philox.js";
import { type Colour, colourOf } from "./colour.js";
import { textures, wallpapers } from "./pattern.js";

/** A visual domain: the style of shapes, and the relation of wallpapers to labels. */
export interface Style {
  /** What shows the shape: its area, its edge, or a texture on its area. */
  mark: "fill" | "outline" | "texture";
  /** Light shapes on a dark background instead of dark shapes on a light one. */
  dark: boolean;
  /** The wallpaper that belongs to a label is number (label + shift) modulo 7. */
  shift: number;
}

/** The domains by name. ../datasets/shapes.ts explains why their shifts differ. */
export const styles = {
  filled: { mark: "fill", dark: false, shift: 0 },
  outlined: { mark: "outline", dark: false, shift: 1 },
  textured: { mark: "texture", dark: false, shift: 2 },
  inverted: { mark: "fill", dark: true, shift: 4 },
} satisfies Record<string, Style>;

export type DomainName = keyof typeof styles;

/** A pattern: its kind, its period as a fraction of the side, and its phase. */
export interface Layout {
  pattern: number;
  period: number;
  startX: number;
  startY: number;
}

export interface Scene {
  /** The center of the shape and its maximum radius. */
  x: number;
  y: number;
  radius: number;
  /** The rotation of the shape: cosine and sine of an angle within ±30°. */
  cos: number;
  sin: number;
  /** The color of the shape; a textured shape has two. */
  ink: Colour;
  secondInk: Colour;
  texture: Layout;
  /** The wallpaper's two colours. */
  paper: Colour;
  secondPaper: Colour;
  wallpaper: Layout;
}

const tan15 = 2 - Math.sqrt(3);
const margin = 0.03; // between the shape and the border

/** Draws the scene of a picture. `cue` is the probability that the wallpaper matches the label; `shift` says which one does. */
export function drawScene(
  domain: DomainName,
  label: number,
  index: number,
  seed: number,
  cue: number,
  shift = styles[domain].shift,
): Scene {
  const { dark } = styles[domain];
  const random = keyedRandom(seed, "shapes", domain, label, index);

  const agrees = random.uniform() < cue;
  const other = 1 + random.integer(wallpapers.length - 1);
  const pattern = (label + shift + (agrees ? 0 : other)) % wallpapers.length;

  const radius = random.uniform(0.29, 0.44);
  const room = 0.5 - margin - radius;
  const x = 0.5 + room * random.uniform(-1, 1);
  const y = 0.5 + room * random.uniform(-1, 1);
  // t = tan(angle/2) gives cosine and sine by division only, with a nearly uniform angle over so small a range.
  const t = random.uniform(-tan15, tan15);
  const cos = (1 - t * t) / (1 + t * t);
  const sin = (2 * t) / (1 + t * t);

  // The hue of the shape is independent of label and domain.
  const inkHue = random.uniform();
  const inkStrength = random.uniform(0.5, 1);
  const inkLight = random.uniform(0.1, 0.26);
  const ink = colourOf(inkHue, inkStrength, dark ? 1 - inkLight : inkLight);
  const secondInk = colourOf(inkHue + random.uniform(0.1, 0.9), 0.7, random.uniform(0.38, 0.48));
  const texture = {
    pattern: random.integer(textures.length),
    period: random.uniform(0.12, 0.17),
    startX: random.uniform(),
    startY: random.uniform(),
  };

  // Each wallpaper has its own tint: the hues are a seventh apart, and vary by at most a quarter of that.
  const paperHue = (pattern + random.uniform(-0.25, 0.25)) / wallpapers.length;
  const paperStrength = random.uniform(0.6, 0.95);
  const paperLight = random.uniform(0.76, 0.88);
  const paper = colourOf(paperHue, paperStrength, dark ? 1 - paperLight : paperLight);
  const secondPaper = colourOf(paperHue, paperStrength, dark ? 1.1 - paperLight : paperLight - 0.1);
  const wallpaper = {
    pattern,
    period: random.uniform(0.16, 0.22),
    startX: random.uniform(),
    startY: random.uniform(),
  };

  return { x, y, radius, cos, sin, ink, secondInk, texture, paper, secondPaper, wallpaper };
}
