/** A run's settings, environment and log, as they are on disk. */

import type { RunDetails } from "../api.js";
import { h } from "./dom.js";
import { emptyState } from "./view.js";

type Values = Readonly<Record<string, unknown>>;

/** Said elsewhere, or only of use to the program. */
const LEFT_OUT = ["format", "request", "hash"];

export function settingsPart({ settings, environment, folder }: RunDetails): HTMLElement {
  if (!settings) return emptyState("No settings", h("p", {}, "settings.json of this run cannot be read."));
  const { fixed, given, hparams, regularizers, averaging, ...rest } = settings as Values & {
    fixed?: Values;
    given?: Values;
    hparams?: Values;
    regularizers?: readonly { id: string; settings: Values }[];
    averaging?: readonly { id: string; settings: Values }[];
  };
  const plain = Object.fromEntries(Object.entries(rest).filter(([name]) => !LEFT_OUT.includes(name)));
  const plugins = [
    ...(Array.isArray(regularizers) ? regularizers : []),
    ...(Array.isArray(averaging) ? averaging : []),
  ];
  return h(
    "div",
    { class: "facts" },
    facts("Set by hand", fixed ?? given ?? {}, "All is as the protocol has it."),
    facts("Hyperparameters", hparams ?? {}, "None."),
    ...plugins.map(({ id, settings: values }) => facts(id, values ?? {}, "None.")),
    facts("Run", { folder, ...plain }, "None."),
    facts("Environment", environment ?? {}, "Not written yet."),
  );
}

function facts(title: string, values: Values, none: string): HTMLElement {
  const rows = Object.entries(values).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, valueText(value))),
  );
  return h("section", {}, h("h3", {}, title), rows.length > 0 ? h("dl", {}, ...rows) : h("p", { class: "soft" }, none));
}

function valueText(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.join(", ") || "none";
  if (value === null || value === "") return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The log, at its end, where it stays while lines come unless somebody scrolled up. */
export class LogPart {
  private readonly text = h("pre", { tabindex: 0, role: "log", "aria-label": "Log" });
  private readonly cut = h("p", { class: "soft" });
  readonly root = h("div", { class: "log" }, this.cut, this.text);

  show({ log, logCut }: RunDetails): void {
    const atEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 8;
    this.cut.textContent = logCut ? "The end of the log; what came before is in log.txt." : "";
    if (this.text.textContent !== log) this.text.textContent = log || "Nothing was logged yet.";
    if (atEnd) this.text.scrollTop = this.text.scrollHeight;
  }
}
