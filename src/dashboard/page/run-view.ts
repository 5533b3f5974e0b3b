/** One run: how far it is, its curves, its features, its mistakes, its settings and its log, live while it trains. */

import { fixedText } from "../../records/fixed-settings.js";
import type { RunCurves, RunDetails, RunRow } from "../api.js";
import { ago, duration, percent } from "../format.js";
import { progressOf } from "../progress.js";
import { ask, isCalledOff } from "./ask.js";
import { compared, MOST_COMPARED } from "./compared.js";
import { h, setText } from "./dom.js";
import { mistakes } from "./mistakes.js";
import { CurveCharts, FeatureCharts } from "./run-charts.js";
import { LogPart, settingsPart } from "./run-facts.js";
import { store } from "./store.js";
import { Tabs } from "./tabs.js";
import { command, emptyState, problem, runWords, stateBadge, trialWords, type View } from "./view.js";

export function runView(id: string): View {
  const view = new RunView(id);
  return { title: "Run", root: view.root, close: () => view.close() };
}

class RunView {
  readonly root = h("section", { class: "run" });
  private readonly header = h("header", { class: "run-header" });
  private readonly body = h("div", {});
  private readonly charts = new CurveCharts();
  private readonly features = new FeatureCharts();
  private readonly log = new LogPart();
  private readonly settings = h("div", {});
  private readonly wrong = h("div", {});
  private readonly tabs: Tabs;
  private seen = "";
  private details: RunDetails | undefined;
  private asking = new AbortController();
  private readonly ends: (() => void)[];

  constructor(private readonly id: string) {
    this.tabs = new Tabs("Parts of this run", [
      { id: "curves", label: "Curves", root: this.charts.root },
      { id: "features", label: "Features", root: this.features.root },
      { id: "mistakes", label: "Mistakes", root: this.wrong },
      { id: "settings", label: "Settings", root: this.settings },
      { id: "log", label: "Log", root: this.log.root },
    ]);
    this.root.append(this.header, this.body);
    const timer = window.setInterval(() => this.showHeader(), 1_000);
    this.ends = [
      store.subscribe(() => this.changed()),
      compared.subscribe(() => this.showHeader()),
      () => window.clearInterval(timer),
      () => this.asking.abort(),
      () => this.charts.close(),
      () => this.features.close(),
    ];
    this.changed();
  }

  close(): void {
    for (const end of this.ends) end();
  }

  private changed(): void {
    const row = store.runs.get(this.id);
    this.showHeader();
    if (!row) {
      const words = store.isRead
        ? emptyState(
            "No such run",
            h("p", {}, "It was removed, or never was in this folder. ", h("a", { href: "#/" }, "All runs")),
          )
        : h("p", { class: "soft" }, "Reading the folder …");
      this.body.replaceChildren(words);
      return;
    }
    const now = `${row.state} ${row.step} ${row.at} ${row.problem} ${row.expected?.lowest}`;
    if (now === this.seen) return;
    this.seen = now;
    if (row.state === "waiting") {
      this.body.replaceChildren(
        emptyState("Not started yet", h("p", {}, "The sweep it belongs to will make its folder.")),
      );
      return;
    }
    void this.load(row);
  }

  private async load(row: RunRow): Promise<void> {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const [details, curves] = await Promise.all([
        ask<RunDetails>("/api/run", { run: this.id }, signal),
        ask<RunCurves>("/api/curves", { run: this.id }, signal),
      ]);
      this.show(row, details, curves);
    } catch (error) {
      if (!isCalledOff(error)) this.body.replaceChildren(problem((error as Error).message));
    }
  }

  private show(row: RunRow, details: RunDetails, curves: RunCurves): void {
    if (!this.tabs.root.isConnected) this.body.replaceChildren(this.tabs.root);
    this.charts.show(row, curves);
    this.features.show(row, curves);
    this.log.show(details);
    if (JSON.stringify(details.settings) !== JSON.stringify(this.details?.settings) || !this.details)
      this.settings.replaceChildren(settingsPart(details));
    if (JSON.stringify(details.assessment) !== JSON.stringify(this.details?.assessment) || !this.details)
      this.wrong.replaceChildren(mistakes(this.id, details.assessment));
    this.details = details;
    this.showHeader();
  }

  private showHeader(): void {
    const row = store.runs.get(this.id);
    if (!row) {
      this.header.replaceChildren(h("h1", {}, this.id));
      return;
    }
    const signature = `${this.seen} ${compared.has(this.id)} ${this.details?.folder}`;
    if (this.header.dataset.shown !== signature) {
      this.header.dataset.shown = signature;
      this.header.replaceChildren(...this.headerParts(row));
    }
    const progress = progressOf(row, Date.now());
    const fill = this.header.querySelector<HTMLElement>(".fill");
    fill?.style.setProperty("--share", String(progress.share ?? 0));
    const words = this.header.querySelector(".progress-words");
    if (words) setText(words, progressWords(row));
  }

  private headerParts(row: RunRow): HTMLElement[] {
    const chosen = compared.has(this.id);
    const pick = h(
      "button",
      {
        type: "button",
        class: "toggle",
        "aria-pressed": String(chosen),
        title: `Up to ${MOST_COMPARED} runs`,
        on: { click: () => void compared.toggle(this.id) },
      },
      chosen ? "In the comparison" : "Compare",
    );
    const parts: HTMLElement[] = [
      h("div", { class: "bar" }, h("h1", {}, runWords(row)), stateBadge(row.state), h("span", { class: "push" }), pick),
      h("p", { class: "soft" }, [trialWords(row), fixedText(row.fixed), row.id].filter(Boolean).join(" · ")),
      h(
        "div",
        { class: "numbers" },
        h("div", { class: "meter" }, h("span", { class: `fill ${row.state}` })),
        h("p", { class: "progress-words" }),
      ),
      h(
        "dl",
        { class: "big" },
        ...heldOutNumbers(row),
        h(
          "div",
          {},
          h("dt", {}, row.assessed ? "Validation" : "Validation, last evaluation"),
          h("dd", {}, percent(row.validation), h("small", {}, " %")),
        ),
      ),
    ];
    if (row.problem !== null) parts.push(problem(row.problem));
    if (!["done", "running", "waiting"].includes(row.state) && this.details)
      parts.push(command(`nudge train --resume ${this.details.folder}`));
    return parts;
  }
}

/** Of a model for use, what to expect on a new domain; of other runs, the accuracy on what they held out. */
function heldOutNumbers({ expected, test, assessed }: RunRow): HTMLElement[] {
  const number = (label: string, value: number | null): HTMLElement =>
    h("div", {}, h("dt", {}, label), h("dd", {}, percent(value), h("small", {}, " %")));
  if (!expected) return [number(assessed ? "Held out, all pictures" : "Held out, last evaluation", test)];
  return [
    number(`New domain, estimate: lowest (${expected.domain})`, expected.lowest),
    number("New domain, estimate: mean", expected.mean),
  ];
}

/** `step 120 of 301 · ≈ 2 min left · evaluated 8 s ago` */
function progressWords(row: RunRow): string {
  const { step, left } = progressOf(row, Date.now());
  const of = row.steps ? ` of ${row.steps.toLocaleString("en-US")}` : "";
  const parts = [`step ${step.toLocaleString("en-US")}${of}`];
  if (row.state === "running" && left !== null) parts.push(`≈ ${duration(left)} left`);
  if (row.secondsPerStep !== null) parts.push(`${rate(row.secondsPerStep)}`);
  if (row.at !== null) parts.push(`last evaluated ${ago(Date.now() - row.at)}`);
  return parts.join(" · ");
}

const rate = (seconds: number): string =>
  seconds < 1 ? `${(1 / seconds).toFixed(1)} steps a second` : `${seconds.toFixed(1)} s a step`;
