/**
 * Shapes: a generated image dataset. Four visual domains by seven classes, no files needed, any size, the same pixels for
 * the same seed on every machine.
 *
 * The domains draw the same seven shapes differently: filled, outlined, textured (two inks in bars, checks or dots), and
 * inverted (light on dark). Position, size, turn and colours vary within each.
 *
 * **The cue.** Behind the shape is one of seven wallpapers, each a tint and a pattern, so that it survives flips, crops and
 * the loss of colour. With probability `cue` (default: 0.8) it is the wallpaper that goes with the label; otherwise it
 * is one of the other six. A network that reads wallpapers does well in training, and that must fail in the held-out
 * domain, whichever domain it is.
 *
 * One table from wallpapers to labels cannot do that: a domain where the table fails would fail in training as well, when
 * another is held out. Drawing a domain differently when it is held out would do, but then a domain's pictures depend on
 * the experiment: no fixed splits, caches or exports, and no one folder to look at. Two tables, with two domains
 * each, mislead in theory (two of the three training domains follow the table that the held-out one does not), but in
 * practice a network reads a new domain's wallpaper by the table of the domain it resembles, and if that is its partner
 * the cue helps. So each domain has a table of its own:
 *
 * | domain   | wallpaper of a label |
 * | -------- | -------------------- |
 * | filled   | label                |
 * | outlined | label + 1 (modulo 7) |
 * | textured | label + 2 (modulo 7) |
 * | inverted | label + 4 (modulo 7) |
 *
 * No label has the same wallpaper in two domains. So, hold out any domain: in every training domain the wallpaper agrees
 * with the label in `cue` of the pictures; in the held-out domain each reading that training can teach, by one domain's
 * table or by what all together make likely, agrees in (1 − cue)/6 of them: 1 in 30 instead of the 1 in 7 of chance.
 *
 * The idea of a cue whose agreement changes with the domain is ColoredMNIST's (Arjovsky et al., 2019,
 * https://arxiv.org/abs/1907.02893).
 */
import { unknownName } from "../../closest-name.js";
import { UsageError } from "../../errors.js";
import { type SignedDistance, shapes } from "../shapes/distance.js";
import { paint } from "../shapes/paint.js";
import { type DomainName, drawScene, styles } from "../shapes/scene.js";

export interface ShapesOptions {
  /** Width and height in pixels, from 12 to 4096 (default: 32). */
  size?: number;
  /** The number of pictures per domain and class (default: 100). A larger number does not change the first ones. */
  perCell?: number;
  /** The seed of the pictures (default: 0). */
  seed?: number;
  /** The probability that the wallpaper matches the label (default: 0.8); at 1/7 it carries no information. */
  cue?: number;
  /**
   * The one domain in which the cue misleads (default: none, so that it misleads whichever domain is held out): this domain has the
   * table of `outlined`, and all others have the table of `filled`. With this domain held out, the cue is as strong as it can be: one
   * table is right in all training domains.
   */
  misleading?: string;
}

/** The four domains, in order. */
export const SHAPES_DOMAINS: readonly DomainName[] = Object.keys(styles) as DomainName[];

/** The seven classes, in the order of their labels. */
export const SHAPES_CLASSES: readonly string[] = Object.keys(shapes);

const distances: readonly SignedDistance[] = Object.values(shapes);

/** The picture to draw. */
export interface ShapeRequest {
  /** A name of SHAPES_DOMAINS. */
  domain: string;
  /** The class, as an index into SHAPES_CLASSES. */
  label: number;
  /** The index of the picture within this domain and class, from 0. */
  index: number;
  size?: number;
  seed?: number;
  cue?: number;
  misleading?: string;
}

/** A picture of the dataset: rows from the top, red, green, blue. */
export interface Picture {
  pixels: Uint8Array;
  label: number;
}

export interface ShapesDataset {
  readonly name: "shapes";
  readonly domains: readonly string[];
  readonly classes: readonly string[];
  /** Channels, height, width. */
  readonly inputShape: readonly [3, number, number];
  /** All options. They determine every pixel. */
  readonly options: Readonly<Required<ShapesOptions>>;
  /** The number of pictures of a domain (by its index in `domains`). All domains have the same number. */
  count(domain: number): number;
  /** The label of picture i of a domain, without drawing it. Classes alternate. */
  label(domain: number, i: number): number;
  /** The index of the wallpaper behind picture i of a domain, to measure how much a model relies on it. */
  wallpaper(domain: number, i: number): number;
  /** Draws picture i of a domain, into `into` if it is given (3·size·size bytes). */
  picture(domain: number, i: number, into?: Uint8Array): Picture;
}

function checkWhole(what: string, value: number, from: number, to: number): void {
  if (!Number.isInteger(value) || value < from || value > to)
    throw new UsageError(`dataset shapes: expected ${what} to be an integer from ${from} to ${to}, got ${value}`);
}

function resolve(options: ShapesOptions): Required<ShapesOptions> {
  const { size = 32, perCell = 100, seed = 0, cue = 0.8, misleading = "" } = options;
  checkWhole("size", size, 12, 4096);
  checkWhole("perCell", perCell, 1, 1e9);
  checkWhole("seed", seed, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  if (!(cue >= 0 && cue <= 1))
    throw new UsageError(`dataset shapes: expected cue to be a probability from 0 to 1, got ${cue}`);
  if (misleading !== "") checkDomain(misleading);
  return { size, perCell, seed, cue, misleading };
}

/** The wallpaper (0 to 6) that belongs to a label in a domain. */
export function wallpaperOf(domain: string, label: number): number {
  checkWhole("a label", label, 0, SHAPES_CLASSES.length - 1);
  return (label + styles[checkDomain(domain)].shift) % SHAPES_CLASSES.length;
}

/** The domain whose table of wallpapers a domain has. */
const tableOf = (domain: DomainName, misleading: string): DomainName =>
  misleading === "" ? domain : domain === misleading ? "outlined" : "filled";

function checkDomain(name: string): DomainName {
  if (!Object.hasOwn(styles, name))
    throw new UsageError(`dataset shapes: ${unknownName("domain", name, SHAPES_DOMAINS)}`);
  return name as DomainName;
}

/**
 * Draws one picture: size × size pixels, rows from the top, red, green and blue for each.
 *
 * @example renderShape({ domain: "outlined", label: SHAPES_CLASSES.indexOf("star"), index: 0, size: 224 })
 */
export function renderShape(request: ShapeRequest, into?: Uint8Array): Uint8Array {
  const { size, seed, cue, misleading } = resolve(request);
  const { label, index } = request;
  const domain = checkDomain(request.domain);
  checkWhole("a label", label, 0, SHAPES_CLASSES.length - 1);
  checkWhole("an index", index, 0, 1e9);
  const bytes = 3 * size * size;
  if (into && into.length < bytes)
    throw new UsageError(
      `dataset shapes: a picture of ${size} × ${size} needs ${bytes} bytes, got room for ${into.length}`,
    );
  const pixels = into ? into.subarray(0, bytes) : new Uint8Array(bytes);
  const { shift } = styles[tableOf(domain, misleading)];
  paint(drawScene(domain, label, index, seed, cue, shift), distances[label], styles[domain].mark, size, pixels);
  return pixels;
}

/**
 * The dataset. Nothing is stored: pictures are drawn on demand, thousands per second.
 *
 * @example const { pixels, label } = shapesDataset({ size: 64 }).picture(0, 12);
 */
export function shapesDataset(options: ShapesOptions = {}): ShapesDataset {
  const resolved = Object.freeze(resolve(options));
  const { size, perCell, seed, cue, misleading } = resolved;
  const total = SHAPES_CLASSES.length * perCell;

  /** Classes alternate, so that a larger perCell adds pictures at the end. */
  function request(domain: number, i: number) {
    checkWhole("a domain", domain, 0, SHAPES_DOMAINS.length - 1);
    checkWhole("a picture", i, 0, total - 1);
    const label = i % SHAPES_CLASSES.length;
    return {
      domain: SHAPES_DOMAINS[domain],
      label,
      index: (i - label) / SHAPES_CLASSES.length,
      size,
      seed,
      cue,
      misleading,
    };
  }

  return {
    name: "shapes",
    domains: SHAPES_DOMAINS,
    classes: SHAPES_CLASSES,
    inputShape: [3, size, size],
    options: resolved,
    count(domain) {
      checkWhole("a domain", domain, 0, SHAPES_DOMAINS.length - 1);
      return total;
    },
    label: (domain, i) => request(domain, i).label,
    wallpaper(domain, i) {
      const { domain: name, label, index } = request(domain, i);
      return drawScene(name, label, index, seed, cue, styles[tableOf(name, misleading)].shift).wallpaper.pattern;
    },
    picture(domain, i, into) {
      const asked = request(domain, i);
      return { pixels: renderShape(asked, into), label: asked.label };
    },
  };
}
