/** What a trained model gets wrong: confusion by domain, and the pictures whose true class it gave the lowest probability. */

import type { Assessment } from "../api.js";
import { h } from "./dom.js";
import { emptyState, select } from "./view.js";

/** More classes than this do not fit a page as a matrix. */
const MOST_CLASSES = 40;

/** The whole part; `run` is the id for asking after pictures. */
export function mistakes(run: string, assessment: Assessment | null): HTMLElement {
  if (!assessment)
    return emptyState(
      "No assessment of this run",
      h(
        "p",
        {},
        "A run on pictures writes one when it is done. For any model and folder: ",
        h("code", {}, "nudge eval MODEL --data DIR"),
        ".",
      ),
    );
  return h("div", { class: "mistakes" }, confusion(assessment), pictures(run, assessment));
}

function confusion({ classes, confusion: domains }: Assessment): HTMLElement {
  if (domains.length === 0 || classes.length > MOST_CLASSES) return h("div", {});
  const place = h("div", { class: "scroll" });
  const show = (i: number): void => place.replaceChildren(matrix(classes, domains[i].counts));
  show(0);
  const options = domains.map(({ domain }, i) => ({ id: String(i), label: domain }));
  return h(
    "section",
    {},
    h("h3", {}, "Confusion matrix"),
    h(
      "div",
      { class: "bar" },
      select("Domain", options, "0", (id) => show(Number(id))),
    ),
    place,
    h("p", { class: "soft" }, "A row is the true class, a column what the model said."),
  );
}

function matrix(classes: readonly string[], counts: readonly (readonly number[])[]): HTMLElement {
  const cells = counts.map((row, i) => {
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((count, j) =>
      h(
        "td",
        {
          class: i === j ? "right" : "wrong",
          vars: { "--share": sum > 0 ? count / sum : 0 },
          title: `${classes[i]} taken for ${classes[j]}: ${count} of ${sum}`,
        },
        count > 0 ? count : "",
      ),
    );
  });
  return h(
    "table",
    { class: "confusion" },
    h("thead", {}, h("tr", {}, h("td", {}), ...classes.map((name) => h("th", { scope: "col" }, h("span", {}, name))))),
    h("tbody", {}, ...cells.map((row, i) => h("tr", {}, h("th", { scope: "row" }, classes[i]), ...row))),
  );
}

function pictures(run: string, { mostWrong, of }: Assessment): HTMLElement {
  if (mostWrong.length === 0)
    return h("section", {}, h("h3", {}, "Worst mistakes"), h("p", { class: "soft" }, `None on ${of}.`));
  const items = mostWrong.map(({ n, name, domain, label, predicted, confidence, truth, shown }) => {
    const address = `/api/picture?${new URLSearchParams({ run, n: String(n) })}`;
    const picture = shown
      ? h("img", { src: address, alt: `${label}, predicted ${predicted}`, loading: "lazy", decoding: "async" })
      : h("div", { class: "no-picture" }, "not on this machine");
    return h(
      "li",
      { title: name },
      picture,
      h("strong", {}, label),
      h("span", {}, `predicted ${predicted}, ${(100 * confidence).toFixed(1)}\u00a0%`),
      h("span", { class: "soft" }, `${label}: ${(100 * truth).toFixed(1)}\u00a0%`),
      h("span", { class: "soft" }, domain),
    );
  });
  return h(
    "section",
    {},
    h("h3", {}, "Worst mistakes"),
    h("p", { class: "soft" }, `On ${of}; those first whose true class the model gave the lowest probability.`),
    h("ul", { class: "pictures" }, ...items),
  );
}
