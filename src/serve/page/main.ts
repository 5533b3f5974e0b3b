/** The page of `nudge serve`: drop, choose or paste pictures, and see the predictions of the model. */

import { make } from "../../http/page/make.js";
import { percentileText } from "../../model/percentile-text.js";
import type { ModelFacts, PredictedPicture, UnreadablePicture } from "../api.js";

/** The number of pictures that are sent at once, and of results that are kept on the page. */
const MOST_AT_ONCE = 8;
const MOST_SHOWN = 500;
/** The number of classes shown for each picture. */
const TOP = 3;

const WHY = { far: "unknown: far from training", uncertain: "unknown: too uncertain" } as const;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

interface Shown {
  readonly name: string;
  readonly root: HTMLElement;
  readonly address: string;
  answer?: PredictedPicture;
  problem?: string;
}

const shown: Shown[] = [];
const waiting: { file: File; into: Shown }[] = [];
let sending = 0;

const about = make("p", { class: "soft" }, "Reading the model …");
const choose = make("input", { type: "file", id: "files", multiple: "", accept: "image/*,.ppm,.pgm" });
const zone = make(
  "label",
  { class: "zone", for: "files" },
  make("strong", {}, "Drop pictures here"),
  make("span", { class: "soft" }, "or choose them, or paste one. They stay on this machine."),
  choose,
);
const status = make("p", { class: "soft", role: "status" });
const clear = make("button", { type: "button", hidden: "" }, "Clear");
const save = make("button", { type: "button", hidden: "" }, "Save as CSV");
const results = make("ul", { class: "pictures", "aria-label": "Predictions" });
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
  while (sending < MOST_AT_ONCE && waiting.length > 0) {
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
    const response = await fetch(`/predict?top=${TOP}`, { method: "POST", body: file });
    if (response.ok) into.answer = (await response.json()) as PredictedPicture;
    else if (response.status === 422) into.problem = ((await response.json()) as UnreadablePicture).problem;
    else into.problem = (await response.text()).trim();
  } catch {
    into.problem = "the server does not respond; was it stopped?";
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
        `distance percentile ${percentileText(answer.distance.percentile)}, nearest domain ${answer.distance.nearest}`,
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

fetch("/model")
  .then(async (response) => {
    const { classes, domains, backbone } = (await response.json()) as ModelFacts;
    const few =
      classes.length > 12 ? `${classes.slice(0, 12).join(", ")} and ${classes.length - 12} more` : classes.join(", ");
    about.textContent = `${backbone}, trained on ${domains.join(", ")}. Classes: ${few}.`;
  })
  .catch(() => {
    about.textContent = "The server does not respond. Was it stopped?";
  });
