/**
 * Sets text in the single-stroke typeface of `stroke-glyphs.ts`, as SVG paths.
 *
 * Why: a machine without installed fonts (a fresh Debian server or container) renders every letter of an SVG's text as an
 * empty box. A PNG is therefore made from strokes, which need no font and give the same picture on every machine.
 */
import { bearing, type Glyph, glyphs, missingGlyph, unitsPerEm } from "./stroke-glyphs.js";
import { coordinate, escapeXml } from "./svg.js";

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀⁿ";
const superscriptBases = "0123456789+\u2212Tn";
const subscripts = "₀₁₂₃₄₅₆₇₈₉";
const small = 0.62;

interface Placed {
  glyph: Glyph;
  scale: number;
  rise: number;
}

function place(character: string): Placed {
  const up = superscripts.indexOf(character);
  if (up >= 0) return { glyph: glyphs.get(superscriptBases[up])!, scale: small, rise: 3.4 };
  const down = subscripts.indexOf(character);
  if (down >= 0) return { glyph: glyphs.get(String(down))!, scale: small, rise: -1.6 };
  // A composed letter such as "é" is drawn as its base letter "e".
  const glyph = glyphs.get(character) ?? glyphs.get(character.normalize("NFD")[0]) ?? missingGlyph;
  return { glyph, scale: 1, rise: 0 };
}

const advance = ({ glyph, scale }: Placed): number => (glyph.width + 2 * bearing) * scale;

/** Combining marks have no glyphs; every kind of space is drawn as a space. */
const characters = (content: string): string[] => [
  ...content.normalize("NFC").replace(/\p{M}/gu, "").replace(/\s/gu, " "),
];

/** The approximate width of a line of text in pixels, for any sans-serif font. */
export function textWidth(content: string, size: number, bold = false): number {
  const units = characters(content).reduce((sum, character) => sum + advance(place(character)), 0);
  return (units * size * (bold ? 1.06 : 1)) / unitsPerEm;
}

/** A copy of the SVG whose text elements (as `svg.ts` writes them) are drawn as strokes. */
export function textToStrokes(svg: string): string {
  return svg.replace(/<text ([^>]*)>([^<]*)<\/text>/g, (_, attributes: string, content: string) => {
    const get = (name: string): string | undefined => new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1];
    const bold = get("font-weight") === "bold";
    const size = Number(get("font-size") ?? 12);
    const letters = characters(unescapeXml(content));
    const width = textWidth(letters.join(""), size, bold);
    const shift = { start: 0, middle: width / 2, end: width }[get("text-anchor") ?? "start"] ?? 0;
    const scale = size / unitsPerEm;
    const turned = get("transform") ? `${get("transform")} ` : "";
    const origin = `translate(${coordinate(Number(get("x") ?? 0) - shift)} ${coordinate(Number(get("y") ?? 0))})`;
    const squeeze = `scale(${(scale * (bold ? 1.06 : 1)).toFixed(4)} ${(-scale).toFixed(4)})`;
    const stroke = bold ? 1.35 : 0.95;
    let at = 0;
    const paths = letters.map((letter) => {
      const placed = place(letter);
      const x = at + bearing * placed.scale;
      at += advance(placed);
      if (!placed.glyph.path) return "";
      const sized =
        placed.scale === 1 ? "" : ` scale(${placed.scale})" stroke-width="${coordinate(stroke / placed.scale)}`;
      return `<path d="${placed.glyph.path}" transform="translate(${coordinate(x)} ${placed.rise})${sized}"/>`;
    });
    return `<g transform="${turned}${origin} ${squeeze}" fill="none" stroke="${escapeXml(get("fill") ?? "#000000")}" stroke-width="${stroke}" stroke-linecap="round" stroke-linejoin="round">${paths.join("")}</g>`;
  });
}

function unescapeXml(content: string): string {
  return content
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
