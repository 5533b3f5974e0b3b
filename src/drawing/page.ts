/**
 * The parts of every page that is a single HTML file (the pages of runs, reports, evaluations, datasets and predictions):
 * the frame, tables, cards and a gallery of pictures. The pages make no requests, their content security policy forbids
 * them, and names from data are escaped.
 */

import { narrowStyle, pageStyle } from "./page-style.js";
import { escapeXml } from "./svg.js";

/** Markup that is already escaped. Use `escapeXml` for text. */
export type Html = string;

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** Returns a complete page. Empty parts are skipped. */
export function htmlPage({
  title,
  subtitle,
  style = "",
  parts,
}: {
  title: string;
  subtitle: string;
  /** Rules in addition to those of every page. */
  style?: string;
  parts: readonly Html[];
}): Html {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}"><title>${escapeXml(title)}</title><link rel="icon" href="data:,">
<style>${pageStyle}${style}${narrowStyle}</style></head><body><main>
<h1>${escapeXml(title)}</h1><p class="soft">${escapeXml(subtitle)}</p>
${parts.filter((part) => part !== "").join("\n")}
</main></body></html>
`;
}

/** A section with a heading; an empty string if it has no content. */
export const section = (heading: string, ...content: readonly Html[]): Html =>
  content.some((each) => each !== "") ? `<section><h2>${escapeXml(heading)}</h2>${content.join("")}</section>` : "";

/** A sentence in the color of secondary text. */
export const remark = (text: string): Html => `<p class="soft">${escapeXml(text)}</p>`;

/** A large number with its description. */
export const card = (value: string, words: string): Html =>
  `<div class="card"><b>${escapeXml(value)}</b><span>${escapeXml(words)}</span></div>`;

/** A table cell with a bar, from 0 to 1, instead of text. */
export interface Bar {
  readonly bar: number;
}

/** A table of text. The first cell of a row is its name. */
export function table(head: readonly string[], rows: readonly (readonly (string | Bar)[])[]): Html {
  const cell = (content: string | Bar, i: number): Html => {
    if (typeof content !== "string")
      return `<td class="bar"><span class="track"><i style="width:${(100 * content.bar).toFixed(1)}%"></i></span></td>`;
    return i === 0 ? `<th scope="row">${escapeXml(content)}</th>` : `<td>${escapeXml(content)}</td>`;
  };
  const heading = head.map((title) => `<th scope="col">${escapeXml(title)}</th>`).join("");
  return `<div class="wide"><table><thead><tr>${heading}</tr></thead><tbody>${rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("\n")}</tbody></table></div>`;
}

/** Charts side by side. */
export const figures = (svgs: readonly string[]): Html =>
  svgs.length === 0
    ? ""
    : `<div class="figures">${svgs.map((svg) => `<div class="figure">${svg}</div>`).join("\n")}</div>`;

/** A list of sentences. */
export const list = (items: readonly string[]): Html =>
  items.length === 0 ? "" : `<ul class="plain">${items.map((item) => `<li>${escapeXml(item)}</li>`).join("")}</ul>`;

/** A picture in a gallery. */
export interface GalleryItem {
  /** A data URI; undefined if the picture cannot be shown. */
  readonly picture?: string;
  /** A heat map to lay over it, as a data URI. */
  readonly heat?: string;
  /** The name of the picture, which is also its alternative text. */
  readonly name: string;
  /** The first line, as markup, and the lines below it. */
  readonly words: Html;
  readonly lines: readonly string[];
}

/** Pictures with text. Pointing at a picture hides its heat map. */
export function gallery(items: readonly GalleryItem[]): Html {
  if (items.length === 0) return "";
  const shown = items.map(({ picture, heat, name, words, lines }) => {
    const image = picture
      ? `<img src="${escapeXml(picture)}" alt="${escapeXml(name)}">`
      : '<span class="none">cannot be shown</span>';
    const over = picture && heat ? `<img class="heat" src="${escapeXml(heat)}" alt="">` : "";
    const below = lines.map((line) => `<small>${escapeXml(line)}</small>`).join("");
    const text = `${words}${below}`.replace(/(\d) %/g, "$1\u00a0%"); // no line break before a percent sign
    return `<li><span class="shown">${image}${over}</span><div>${text}</div></li>`;
  });
  return `<ul class="gallery">${shown.join("\n")}</ul>`;
}

/** Galleries with one checkbox that hides all heat maps, if there are any. */
export const galleries = (items: readonly GalleryItem[], content: Html): Html =>
  items.some(({ heat, picture }) => heat && picture)
    ? `<div class="galleries"><label><input type="checkbox" class="heats" checked> Heat maps</label>${content}</div>`
    : content;

/** A fraction in percent. */
export const percent = (share: number | null): string =>
  share !== null && Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : "–";
