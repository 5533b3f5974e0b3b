/** The page of `nudge data review`: pictures whose labels should be checked, with buttons to decide about each one. */

import { make } from "../../http/page/make.js";
import type { ReviewItem, ReviewItems } from "../api.js";

const percent = (share: number): string => `${(100 * share).toFixed(1)}\u00a0%`;

const status = make("p", { class: "soft", role: "status" }, "Reading the pictures …");
const list = make("ul", { class: "pictures", "aria-label": "Pictures to review" });
const heading = make("h1", {}, "Labels to check");
document.body.append(make("main", {}, heading, status, list));

/** Sends a decision. Returns whether it was saved. */
async function send(n: number, as: string | null): Promise<boolean> {
  const query = new URLSearchParams({ n: String(n), ...(as !== null && { as }) });
  const response = await fetch(`/mark?${query}`, { method: "POST" }).catch(() => undefined);
  if (response?.ok) return true;
  status.textContent = response ? await response.text() : "The server does not respond. Was it stopped?";
  return false;
}

/** A picture without a label: a button for each class, and keys for the first nine. */
function unlabelled({ n, path, suggested, probability, mark }: ReviewItem, classes: readonly string[]): HTMLElement {
  const buttons = classes.map((name, i) => {
    const button = make("button", { type: "button", "aria-pressed": "false" }, i < 9 ? `${i + 1} ${name}` : name);
    button.addEventListener("click", () => void choose(name));
    return button;
  });
  const root = make(
    "li",
    { tabindex: "0" },
    make("img", { src: `/picture?n=${n}`, alt: path, loading: "lazy" }),
    make(
      "div",
      {},
      make("p", {}, "predicted ", make("strong", {}, suggested), ` ${percent(probability)}`),
      make("p", { class: "soft" }, path),
      make("div", { class: "bar" }, ...buttons),
    ),
  );
  const show = (as: string | undefined): void => {
    for (const [i, button] of buttons.entries()) button.setAttribute("aria-pressed", String(classes[i] === as));
    root.classList.toggle("done", as !== undefined);
  };
  const choose = async (as: string): Promise<void> => {
    if (!(await send(n, as))) return;
    show(as);
    (root.nextElementSibling as HTMLElement | null)?.focus();
  };
  root.addEventListener("keydown", (event) => {
    const name = /^[1-9]$/.test(event.key) ? classes[Number(event.key) - 1] : undefined;
    if (name !== undefined) void choose(name);
    else if (event.key === "Enter" && event.target === root) void choose(suggested);
    else if (event.key === "ArrowDown") (root.nextElementSibling as HTMLElement | null)?.focus();
    else if (event.key === "ArrowUp") (root.previousElementSibling as HTMLElement | null)?.focus();
    else return;
    event.preventDefault();
  });
  show(mark ?? undefined);
  return root;
}

function itemOf(item: ReviewItem, classes: readonly string[]): HTMLElement {
  const { n, path, domain, label, suggested, probability, given } = item;
  const choice = (words: string, as: string | null): HTMLButtonElement => {
    const button = make("button", { type: "button", "aria-pressed": "false" }, words);
    button.dataset.as = as ?? "";
    button.addEventListener("click", () => void mark(as));
    return button;
  };
  const other = make(
    "select",
    { "aria-label": `Another class for ${path}` },
    make("option", { value: "" }, "another class …"),
  );
  for (const name of classes)
    if (name !== label && name !== suggested) other.append(make("option", { value: name }, name));
  other.addEventListener("change", () => {
    if (other.value !== "") void mark(other.value);
  });
  const buttons = [choice(`${label} is right`, label), choice(`it is ${suggested}`, suggested), choice("remove", null)];
  const root = make(
    "li",
    {},
    make("img", { src: `/picture?n=${n}`, alt: path, loading: "lazy" }),
    make(
      "div",
      {},
      make(
        "p",
        {},
        make("strong", {}, label),
        ` ${percent(given)}, suggested `,
        make("strong", {}, suggested),
        ` ${percent(probability)}`,
      ),
      make("p", { class: "soft" }, path.startsWith(`${domain}/`) ? path : `${domain}: ${path}`),
      make("div", { class: "bar" }, ...buttons, other),
    ),
  );
  const show = (as: string | null | undefined): void => {
    for (const button of buttons)
      button.setAttribute("aria-pressed", String(as !== undefined && button.dataset.as === (as ?? "")));
    other.value = as && as !== label && as !== suggested ? as : "";
    root.classList.toggle("done", as !== undefined);
  };
  const mark = async (as: string | null): Promise<void> => {
    if (await send(n, as)) show(as);
  };
  show(item.mark);
  return root;
}

fetch("/items")
  .then(async (response) => {
    const { task, classes, items, manifest, command } = (await response.json()) as ReviewItems;
    if (task === "label") {
      heading.textContent = document.title = "Pictures to label";
      list.setAttribute("aria-label", "Pictures to label");
      status.replaceChildren(
        `${items.length} pictures. Press the number of a class, or Enter if the prediction is right; the arrow keys move between pictures. Labels are saved to ${manifest} immediately. Then stop the command, and run: `,
        make("code", {}, command),
      );
      list.append(...items.map((item) => unlabelled(item, classes)));
      list.querySelector<HTMLElement>("li:not(.done)")?.focus();
      return;
    }
    status.replaceChildren(
      items.length === 0
        ? "There is no label to check."
        : `${items.length} pictures for which models that were not trained on them predict another label, the clearest disagreements first. The models make mistakes too, so look at each picture. Decisions are saved to ${manifest} immediately. Then run: `,
      make("code", {}, command),
    );
    list.append(...items.map((item) => itemOf(item, classes)));
  })
  .catch(() => {
    status.textContent = "The server does not respond. Was it stopped?";
  });
