/**
 * The toy task of the paper's Section 3.1 with two features, of which one agrees with the label in every domain and the
 * other only in the training domain. ERM and ERM-NU start from the same weights and points; their boundaries move
 * during training.
 */

import { Component, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type ToyClassifier, type ToyEvents, type ToySettings, toyLimits, toyStarts } from "../api.js";
import { percent, short } from "../format.js";
import { Chart } from "./chart.js";
import { ToyPlot } from "./toy-plot.js";
import { number, Problem, Sample, Segmented, Table } from "./view.js";

/** The duration of the animation in milliseconds. */
const PLAY_MS = 6_000;

/** The delay after a slider was moved, before training starts again. */
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

interface ToyState {
  readonly points: ToyEvents["start"]["points"];
  readonly frames: readonly ToyEvents["frame"][];
  /** The number of frames. */
  readonly expected: number;
  /** The played fraction of the training, from 0 to 1. */
  readonly share: number;
  readonly playing: boolean;
  readonly problem: string | null;
}

export class ToyView extends Component<{ rest: string | undefined }, ToyState> {
  override state: ToyState = { points: [], frames: [], expected: 1, share: 0, playing: true, problem: null };
  private source: EventSource | undefined;
  private settle: number | undefined;
  private tick: number | undefined;
  private before = 0;
  /** Whether the user chose the moment that is shown. */
  private isChosen = false;

  override componentDidMount(): void {
    this.train();
    this.tick = requestAnimationFrame((time) => this.onTick(time));
  }

  override componentWillUnmount(): void {
    this.source?.close();
    window.clearTimeout(this.settle);
    if (this.tick !== undefined) cancelAnimationFrame(this.tick);
  }

  private change(settings: Partial<ToySettings>): void {
    kept = { ...kept, ...settings };
    this.setState({});
    window.clearTimeout(this.settle);
    this.settle = window.setTimeout(() => this.train(), SETTLE_MS);
  }

  private train(): void {
    this.source?.close();
    const query = new URLSearchParams(Object.entries(kept).map(([name, value]) => [name, String(value)]));
    const source = new EventSource(`/api/toy?${query}`);
    this.source = source;
    const on = <T,>(kind: string, take: (data: T) => void): void =>
      source.addEventListener(kind, (event) => take(JSON.parse((event as MessageEvent<string>).data) as T));
    on<ToyEvents["start"]>("start", ({ points, frames: expected }) => {
      const playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.isChosen = false;
      this.setState({ points, expected, frames: [], share: 0, playing, problem: null });
    });
    on<ToyEvents["frame"]>("frame", (frame) => this.setState(({ frames }) => ({ frames: [...frames, frame] })));
    on("end", () => {
      source.close();
      if (!this.state.playing && !this.isChosen) this.setState({ share: 1 });
    });
    on<string>("problem", (problem) => {
      source.close();
      this.setState({ problem });
    });
    // The server ends the response after the last frame; without `close`, the browser would request it again.
    source.onerror = () => source.close();
  }

  private onTick(time: number): void {
    this.tick = requestAnimationFrame((next) => this.onTick(next));
    const passed = this.before === 0 ? 0 : Math.min(100, time - this.before);
    this.before = time;
    const { playing, frames, share: from } = this.state;
    if (!playing || frames.length === 0) return;
    const share = Math.min(1, from + passed / PLAY_MS);
    this.setState({ share, playing: share < 1 });
  }

  private choose(share: number): void {
    this.isChosen = true;
    this.setState({ playing: false, share });
  }

  private playOrPause(): void {
    const { playing, share } = this.state;
    this.isChosen = true;
    if (share >= 1) this.setState({ share: 0, playing: true });
    else this.setState({ playing: !playing || share === 0 });
  }

  override render(): JSX.Element {
    const { points, frames, expected, share, playing, problem } = this.state;
    const at = Math.min(frames.length - 1, Math.round(share * (expected - 1)));
    const frame: ToyEvents["frame"] | undefined = frames[at];
    const words = frame && `step ${frame.step.toLocaleString("en-US")}`;
    return (
      <section class="toy">
        <div class="toy-side">
          <About />
          {this.controls()}
          <div>{problem !== null && <Problem text={problem} />}</div>
        </div>
        <div class="toy-main">
          <ToyPlot points={points} erm={frame?.erm} nu={frame?.nu} />
          <div class="player">
            <button type="button" onClick={() => this.playOrPause()}>
              {playing ? "Pause" : share >= 1 ? "Again" : "Play"}
            </button>
            <input
              type="range"
              min={0}
              max={1000}
              step={1}
              value={Math.round(1000 * share)}
              aria-label="Training step"
              aria-valuetext={frame && `step ${frame.step}`}
              onInput={({ currentTarget }) => this.choose(Number(currentTarget.value) / 1000)}
            />
            <output>{words}</output>
          </div>
          <Readings erm={frame?.erm} nu={frame?.nu} />
          <Curves frames={frames} />
        </div>
      </section>
    );
  }

  private controls(): JSX.Element {
    const change = (settings: Partial<ToySettings>): void => this.change(settings);
    return (
      <form class="sliders" onSubmit={(event) => event.preventDefault()}>
        <Slider name="samples" label="Training points, n" whole change={change} />
        <Slider name="weight" label="Weight, λ" zero change={change} />
        <Slider name="steps" label="Steps" whole change={change} />
        <Slider name="learningRate" label="Learning rate" change={change} />
        <Segmented
          label="Initial weights"
          options={toyStarts.map((id) => ({ id, label: id }))}
          chosen={kept.init}
          choose={(init) => change({ init })}
        />
        <button type="button" onClick={() => change({ seed: (kept.seed + 1) % (toyLimits.seed.most + 1) })}>
          New points
        </button>
      </form>
    );
  }
}

/**
 * The accuracy over the whole training. It is drawn again only when a frame arrives, because the current moment changes
 * many times per second.
 */
function Curves({ frames }: Pick<ToyState, "frames">): JSX.Element {
  return useMemo(() => {
    const line = (method: "erm" | "nu") => frames.map(({ step, [method]: { out } }) => ({ x: step, y: 100 * out }));
    const series = [
      { id: "erm", label: "ERM", color: 1, points: line("erm") },
      { id: "nu", label: "ERM-NU", color: 0, points: line("nu"), strong: true },
    ];
    return <Chart title="Out-of-domain accuracy" xLabel="step" yLabel="%" format={percentText} series={series} />;
  }, [frames]);
}

const percentText = (value: number): string => value.toFixed(1);

const About = (): JSX.Element => (
  <div>
    <h1>The toy task</h1>
    <p class="soft">
      The label is the sign of x₁ in every domain. The sign of x₂ equals the label for 70 % of the training points, but
      only for 30 % of the points out of domain. A vertical boundary is correct everywhere; the more it leans, the lower
      the accuracy out of domain. ERM-NU adds λ‖F‖∗ to the loss, the nuclear norm of the features.
    </p>
  </div>
);

interface SliderProps {
  readonly name: Exclude<keyof ToySettings, "init" | "seed">;
  readonly label: string;
  readonly whole?: boolean;
  /** Whether the left end is zero. */
  readonly zero?: boolean;
  change(settings: Partial<ToySettings>): void;
}

/** A slider for one setting, on a logarithmic scale. */
function Slider({ name, label, whole = false, zero = false, change }: SliderProps): JSX.Element {
  const { least, most } = toyLimits[name];
  const low = zero ? most / 1e4 : least;
  const toValue = (place: number): number => {
    if (zero && place === 0) return 0;
    const value = low * (most / low) ** (place / 100);
    return whole ? Math.round(value) : Number(value.toPrecision(2));
  };
  const value = kept[name];
  const id = `toy-${name}`;
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <output for={id}>{typed(value)}</output>
      <input
        id={id}
        type="range"
        min={0}
        max={100}
        step={0.5}
        defaultValue={String(value <= 0 ? 0 : (100 * Math.log(value / low)) / Math.log(most / low))}
        aria-valuetext={typed(value)}
        onInput={({ currentTarget }) => change({ [name]: toValue(Number(currentTarget.value)) })}
      />
    </div>
  );
}

const readings: readonly (readonly [label: string, value: (classifier: ToyClassifier) => string])[] = [
  ["Accuracy out of domain, %", ({ out }) => percent(out)],
  ["Accuracy in domain, %", ({ in: inside }) => percent(inside)],
  ["Training accuracy, %", ({ train }) => percent(train)],
  ["Cross-entropy", ({ loss }) => short(loss)],
  ["‖F‖∗ / ‖F‖, 1 to √2", ({ ratio }) => ratio.toFixed(2)],
];

const Readings = ({ erm, nu }: { erm?: ToyClassifier; nu?: ToyClassifier }): JSX.Element => (
  <Table
    kind="plain readings"
    head={[
      "At this step",
      [<Sample key="erm" color={1} strong />, "ERM"],
      [<Sample key="nu" color={0} strong />, "ERM-NU"],
    ]}
    numbers={[1, 2]}
    rows={readings.map(([name, value]) => ({ name, cells: [erm, nu].map((each) => number(each ? value(each) : "–")) }))}
  />
);

/** A setting as text, without trailing zeros. */
const typed = (value: number): string =>
  value >= 10 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(2)));
