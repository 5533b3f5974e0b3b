/** A page on which pictures are dropped, chosen or pasted, and the predictions of a model are shown. */

import { make } from "../../http/page/make.js";
import { percentileText } from "../../model/percentile-text.js";
import type { ModelFacts, PredictedPicture } from "../api.js";

/** A prediction. A model that runs in the browser does not know the nearest domain. */
export interface Answer extends Omit<PredictedPicture, "distance"> {
  readonly distance: { readonly percentile: number; readonly nearest?: string } | null;
}

/** Where the predictions come from. */
export interface Predictor {
  /** What the page says of privacy: where the pictures go. */
  readonly promise: string;
  /** The number of pictures that are predicted at once. */
  readonly atOnce: number;
  /** The facts of the model. An error's message is shown in their place. */
  facts(): Promise<Pick<ModelFacts, "classes" | "domains" | "backbone">>;
  /** Predicts a picture. An error's message is shown beside it. */
  predict(file: File): Promise<Answer>;
}

/** The number of results that are kept on the page. */
const MOST_SHOWN = 500;
/** The number of classes shown for each picture. */
export const TOP = 3;

const WHY = { far: "unknown: far from training", uncertain: "unknown: too uncertain" } as const;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

interface Shown {
  readonly name: string;
  readonly root: HTMLElement;
  readonly address: string;
  answer?: Answer;
  problem?: string;
}

const shown: Shown[] = [];
const waiting: { file: File; into: Shown }[] = [];
let sending = 0;

let predictor: Predictor;

const about = make("p", { class: "soft" }, "Reading the model …");
const promise = make("span", { class: "soft" });
const choose = make("input", { type: "file", id: "files", multiple: "", accept: "image/*,.ppm,.pgm" });
const zone = make("label", { class: "zone", for: "files" }, make("strong", {}, "Drop pictures here"), promise, choose);
const status = make("p", { class: "soft", role: "status" });
const clear = make("button", { type: "button", hidden: "" }, "Clear");
const save = make("button", { type: "button", hidden: "" }, "Save as CSV");
const results = make("ul", { class: "pictures", "aria-label": "Predictions" });
/** Adds pictures, with the newest first on the page. */
function add(files: Iterable<File>): void {
  for (const file of files) {
    const address = URL.createObjectURL(file);
    const words = make("div", { class: "words" }, make("p", { class: "soft" }, "Waiting …"));
    const root = make("li", {}, make("img", { src: address, alt: file.name }), words);
    root.querySelector("img")?.addEventListener("error", ({ target }) => (target as Element).remove());
    const into: Shown = { name: file.name, root, address };
    shown.unshift(into);
    results.prepend(root);
    waiting.push({ file, into });
  }
  while (shown.length > MOST_SHOWN) forget(shown.pop()!);
  sendNext();
  show();
}

function forget({ root, address }: Shown): void {
  root.remove();
  URL.revokeObjectURL(address);
}

function sendNext(): void {
  while (sending < predictor.atOnce && waiting.length > 0) {
    const { file, into } = waiting.shift()!;
    sending++;
    void send(file, into).finally(() => {
      sending--;
      sendNext();
      show();
    });
  }
}

async function send(file: File, into: Shown): Promise<void> {
  try {
    into.answer = await predictor.predict(file);
  } catch (error) {
    into.problem = (error as Error).message;
  }
  into.root.querySelector(".words")?.replaceChildren(...wordsOf(into));
}

function wordsOf({ name, answer, problem }: Shown): HTMLElement[] {
  const file = make("small", { class: "soft" }, name);
  if (!answer) return [make("p", { class: "problem" }, problem ?? ""), file];
  const bars = answer.top.map(({ label, probability }) => {
    const bar = make("meter", { min: "0", max: "1", value: String(probability), "aria-label": label });
    return make("li", {}, make("span", {}, label), bar, make("span", { class: "number" }, percent(probability)));
  });
  const parts = [make("strong", {}, answer.class), make("ol", { class: "bars" }, ...bars)];
  if (answer.unknown) parts.unshift(make("p", { class: "unknown" }, WHY[answer.unknown]));
  if (answer.truncated) parts.push(make("p", { class: "soft" }, "The file is truncated; the readable part was used."));
  if (answer.distance)
    parts.push(
      make(
        "p",
        { class: "soft" },
        [
          `distance percentile ${percentileText(answer.distance.percentile)}`,
          ...(answer.distance.nearest === undefined ? [] : [`nearest domain ${answer.distance.nearest}`]),
        ].join(", "),
      ),
    );
  return [...parts, file];
}

function show(): void {
  const predicted = shown.filter(({ answer }) => answer);
  const unknown = predicted.filter(({ answer }) => answer?.unknown).length;
  const failed = shown.filter(({ problem }) => problem).length;
  const left = sending + waiting.length;
  status.textContent =
    shown.length === 0
      ? ""
      : [
          `${predicted.length} predicted`,
          ...(unknown > 0 ? [`${unknown} of them unknown`] : []),
          ...(failed > 0 ? [`${failed} failed`] : []),
          ...(left > 0 ? [`${left} waiting`] : []),
        ].join(", ");
  clear.hidden = save.hidden = shown.length === 0 || left > 0;
}

choose.addEventListener("change", () => {
  add(choose.files ?? []);
  choose.value = "";
});
clear.addEventListener("click", () => {
  for (const each of shown.splice(0)) forget(each);
  show();
});
save.addEventListener("click", () => {
  const cell = (value: unknown): string => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const rows = shown.toReversed().map(({ name, answer, problem }) => {
    const { unknown, distance } = answer ?? {};
    const truncated = answer?.truncated ? "true" : "";
    const far = [distance?.percentile, distance?.nearest];
    return [name, answer?.class, answer?.probability, unknown, ...far, truncated, problem];
  });
  const rest = ["distance_percentile", "nearest_domain", "truncated", "problem"];
  const head = ["picture", "class", "probability", "unknown", ...rest];
  const text = [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  make("a", { href: address, download: "predictions.csv" }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
});

/** Builds the page. */
export function showPredictions(from: Predictor): void {
  predictor = from;
  promise.textContent = `or choose them, or paste one. ${from.promise}`;
  document.body.append(
    make(
      "main",
      {},
      make("h1", {}, "Predict pictures"),
      about,
      zone,
      make("div", { class: "bar" }, status, save, clear),
      results,
    ),
  );

  // The whole page accepts dropped files, so that a picture dropped next to the zone does not replace the page.
  let over = 0;
  window.addEventListener("dragenter", () => zone.classList.toggle("over", ++over > 0));
  window.addEventListener("dragleave", () => zone.classList.toggle("over", --over > 0));
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    over = 0;
    zone.classList.remove("over");
    add(event.dataTransfer?.files ?? []);
  });
  window.addEventListener("paste", (event) => add(event.clipboardData?.files ?? []));

  from.facts().then(
    ({ classes, domains, backbone }) => {
      const few =
        classes.length > 12 ? `${classes.slice(0, 12).join(", ")} and ${classes.length - 12} more` : classes.join(", ");
      about.textContent = `${backbone}, trained on ${domains.join(", ")}. Classes: ${few}.`;
    },
    (error: Error) => {
      about.textContent = error.message;
    },
  );
}
