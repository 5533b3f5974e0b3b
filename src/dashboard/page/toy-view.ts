/**
 * The toy task of the paper's Section 3.1: two features, of which one goes with the label everywhere and the other only in the
 * training domain. ERM and ERM-NU start alike on the same points; the boundary of each moves as it trains.
 */

import { type ToyEvents, type ToySettings, toyLimits, toyStarts } from "../api.js";
import { percent, short } from "../format.js";
import { Chart } from "./chart.js";
import { h, setText } from "./dom.js";
import { ToyPlot } from "./toy-plot.js";
import { problem, segmented, type View } from "./view.js";

type Frame = ToyEvents["frame"];

/** How long a whole training plays, in milliseconds. */
const PLAY_MS = 6_000;

/** Waited for after a slider moved, before training anew. */
const SETTLE_MS = 120;

/** Kept while other views are open. */
let kept: ToySettings = {
  samples: toyLimits.samples.usual,
  weight: toyLimits.weight.usual,
  steps: toyLimits.steps.usual,
  learningRate: toyLimits.learningRate.usual,
  seed: toyLimits.seed.usual,
  init: "uniform",
};

export function toyView(): View {
  const view = new ToyView();
  return { title: "Toy task", root: view.root, close: () => view.close() };
}

class ToyView {
  readonly root: HTMLElement;
  private readonly plot = new ToyPlot();
  private readonly chart = new Chart({
    title: "Out-of-domain accuracy",
    xLabel: "step",
    yLabel: "%",
    format: (value) => value.toFixed(1),
  });
  private readonly numbers = new Map<string, HTMLElement>();
  private readonly message = h("div", {});
  private readonly scrub: HTMLInputElement;
  private readonly stepWords = h("output", {});
  private readonly playButton: HTMLButtonElement;
  private frames: Frame[] = [];
  /** How many frames there will be. */
  private expected = 1;
  private source: EventSource | undefined;
  private settle: number | undefined;
  private playing = true;
  private share = 0;
  private drawnFrames = 0;
  private tick: number | undefined;
  private before = 0;

  constructor() {
    this.scrub = h("input", {
      ...{ type: "range", min: 0, max: 1000, step: 1, value: 0, "aria-label": "Moment of the training" },
      on: {
        input: () => {
          this.setPlaying(false);
          this.share = Number(this.scrub.value) / 1000;
          this.draw();
        },
      },
    });
    this.playButton = h("button", { type: "button", on: { click: () => this.playOrPause() } }, "Pause");
    this.root = h(
      "section",
      { class: "toy" },
      h("div", { class: "toy-side" }, this.about(), this.controls(), this.message),
      h(
        "div",
        { class: "toy-main" },
        this.plot.root,
        h("div", { class: "player" }, this.playButton, this.scrub, this.stepWords),
        this.readings(),
        this.chart.root,
      ),
    );
    this.train();
    this.tick = requestAnimationFrame((time) => this.onTick(time));
  }

  close(): void {
    this.source?.close();
    window.clearTimeout(this.settle);
    if (this.tick !== undefined) cancelAnimationFrame(this.tick);
    this.chart.close();
  }

  private about(): HTMLElement {
    return h(
      "div",
      {},
      h("h1", {}, "The toy task"),
      h(
        "p",
        { class: "soft" },
        "The sign of x₁ is the label, everywhere. The sign of x₂ agrees with it for 70 % of the training points and for 30 % out of domain. " +
          "An upright boundary is right everywhere; the more it leans, the worse out of domain. ERM-NU adds λ‖F‖∗, the nuclear norm of the features.",
      ),
    );
  }

  private controls(): HTMLElement {
    return h(
      "form",
      { class: "sliders", on: { submit: (event) => event.preventDefault() } },
      this.slider("samples", "Training points, n", { log: true, whole: true }),
      this.slider("weight", "Weight, λ", { log: true, zero: true }),
      this.slider("steps", "Steps", { log: true, whole: true }),
      this.slider("learningRate", "Learning rate", { log: true }),
      segmented(
        "Start",
        toyStarts.map((id) => ({ id, label: id })),
        kept.init,
        (init) => this.change({ init }),
      ),
      h(
        "button",
        {
          type: "button",
          on: { click: () => this.change({ seed: (kept.seed + 1) % (toyLimits.seed.most + 1) }) },
        },
        "Other points",
      ),
    );
  }

  /** A slider over one setting; logarithmic ones feel even, and may have a zero at their left end. */
  private slider(
    name: Exclude<keyof ToySettings, "init">,
    label: string,
    { log = false, whole = false, zero = false }: { log?: boolean; whole?: boolean; zero?: boolean },
  ): HTMLElement {
    const { least, most } = toyLimits[name];
    const low = zero ? most / 1e4 : least;
    const toValue = (place: number): number => {
      if (zero && place === 0) return 0;
      const value = log ? low * (most / low) ** (place / 100) : least + ((most - least) * place) / 100;
      return whole ? Math.round(value) : Number(value.toPrecision(2));
    };
    const toPlace = (value: number): number =>
      value <= 0
        ? 0
        : log
          ? (100 * Math.log(value / low)) / Math.log(most / low)
          : (100 * (value - least)) / (most - least);
    const id = `toy-${name}`;
    const words = h("output", { for: id }, typed(kept[name]));
    const input = h("input", {
      id,
      ...{
        type: "range",
        min: 0,
        max: 100,
        step: 0.5,
        value: toPlace(kept[name]),
        "aria-valuetext": typed(kept[name]),
      },
      on: {
        input: () => {
          const value = toValue(Number(input.value));
          setText(words, typed(value));
          input.setAttribute("aria-valuetext", typed(value));
          this.change({ [name]: value });
        },
      },
    });
    return h("div", { class: "slider" }, h("label", { for: id }, label), words, input);
  }

  private change(settings: Partial<ToySettings>): void {
    kept = { ...kept, ...settings };
    window.clearTimeout(this.settle);
    this.settle = window.setTimeout(() => this.train(), SETTLE_MS);
  }

  private train(): void {
    this.source?.close();
    const query = new URLSearchParams(Object.entries(kept).map(([name, value]) => [name, String(value)]));
    const source = new EventSource(`/api/toy?${query}`);
    this.source = source;
    const on = <K extends keyof ToyEvents>(kind: K, take: (data: ToyEvents[K]) => void): void =>
      source.addEventListener(kind, (event) => take(JSON.parse((event as MessageEvent<string>).data) as ToyEvents[K]));
    on("start", ({ points, frames }) => {
      this.frames = [];
      this.expected = frames;
      this.drawnFrames = 0;
      this.share = 0;
      this.setPlaying(!matchMedia("(prefers-reduced-motion: reduce)").matches);
      this.message.replaceChildren();
      this.plot.setPoints(points);
    });
    on("frame", (frame) => this.frames.push(frame));
    on("end", () => {
      source.close();
      if (!this.playing) {
        this.share = 1;
        this.draw();
      }
    });
    source.addEventListener("problem", (event) => {
      source.close();
      this.message.replaceChildren(problem(JSON.parse((event as MessageEvent<string>).data) as string));
    });
    source.onerror = () => {
      // The server ends the answer after the last frame; the browser would ask for it again.
      source.close();
    };
  }

  private playOrPause(): void {
    if (this.share >= 1) this.share = 0;
    this.setPlaying(!this.playing || this.share === 0);
  }

  private setPlaying(playing: boolean): void {
    this.playing = playing;
    setText(this.playButton, playing ? "Pause" : this.share >= 1 ? "Again" : "Play");
  }

  private onTick(time: number): void {
    this.tick = requestAnimationFrame((next) => this.onTick(next));
    const passed = this.before === 0 ? 0 : Math.min(100, time - this.before);
    this.before = time;
    if (!this.playing || this.frames.length === 0) return;
    this.share = Math.min(1, this.share + passed / PLAY_MS);
    this.draw();
    if (this.share >= 1) this.setPlaying(false);
  }

  private draw(): void {
    const last = this.frames.length - 1;
    if (last < 0) return;
    const at = Math.min(last, Math.round(this.share * (this.expected - 1)));
    const frame = this.frames[at];
    this.plot.show(frame.erm, frame.nu);
    if (document.activeElement !== this.scrub || this.playing) this.scrub.value = String(1000 * this.share);
    this.scrub.setAttribute("aria-valuetext", `step ${frame.step}`);
    setText(this.stepWords, `step ${frame.step.toLocaleString("en-US")}`);
    for (const [name, { value }] of Object.entries(readings))
      for (const method of ["erm", "nu"] as const)
        setText(this.numbers.get(`${name} ${method}`)!, value(frame[method]));
    if (this.drawnFrames !== this.frames.length) {
      this.drawnFrames = this.frames.length;
      const line = (method: "erm" | "nu") =>
        this.frames.map(({ step, [method]: { out } }) => ({ x: step, y: 100 * out }));
      this.chart.setSeries([
        { id: "erm", label: "ERM", color: 1, points: line("erm") },
        { id: "nu", label: "ERM-NU", color: 0, points: line("nu"), strong: true },
      ]);
    }
  }

  private readings(): HTMLElement {
    const rows = Object.entries(readings).map(([name, { label }]) => {
      const cells = ["erm", "nu"].map((method) => {
        const cell = h("td", { class: "number" }, "–");
        this.numbers.set(`${name} ${method}`, cell);
        return cell;
      });
      return h("tr", {}, h("th", { scope: "row" }, label), ...cells);
    });
    const heading = (text: string, color: number): HTMLElement =>
      h(
        "th",
        { scope: "col", class: "number" },
        h("span", { class: "sample strong", vars: { "--c": `var(--s${color})` }, "aria-hidden": "true" }),
        text,
      );
    return h(
      "table",
      { class: "plain readings" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "At this step"), heading("ERM", 1), heading("ERM-NU", 0))),
      h("tbody", {}, ...rows),
    );
  }
}

const readings: Readonly<Record<string, { label: string; value(classifier: Frame["erm"]): string }>> = {
  out: { label: "Out of domain, %", value: ({ out }) => percent(out) },
  in: { label: "In domain, %", value: ({ in: inside }) => percent(inside) },
  train: { label: "On the points, %", value: ({ train }) => percent(train) },
  loss: { label: "Cross-entropy", value: ({ loss }) => short(loss) },
  ratio: { label: "‖F‖∗ / ‖F‖, 1 to √2", value: ({ ratio }) => ratio.toFixed(2) },
};

/** A setting as it is typed: no zeros at its end. */
const typed = (value: number): string =>
  value >= 10 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(2)));
