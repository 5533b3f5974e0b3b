/** The settings, environment and log of a run. */

import type { JSX, TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { RunDetails } from "../api.js";
import { Empty } from "./view.js";

type Values = Readonly<Record<string, unknown>>;

/** Keys that are shown elsewhere or are only for the program. */
const HIDDEN_KEYS = ["format", "request", "hash"];

export function Settings({ settings, environment, folder }: RunDetails): JSX.Element {
  if (!settings) return <Empty title="No settings" words="settings.json of this run cannot be read." />;
  const { fixed, given, hparams, regularizers, averaging, ...rest } = settings as Values & {
    fixed?: Values;
    given?: Values;
    hparams?: Values;
    regularizers?: readonly { id: string; settings: Values }[];
    averaging?: readonly { id: string; settings: Values }[];
  };
  const plain = Object.fromEntries(Object.entries(rest).filter(([name]) => !HIDDEN_KEYS.includes(name)));
  const plugins = [regularizers, averaging].flatMap((list) => (Array.isArray(list) ? list : []));
  return (
    <div class="facts">
      <Facts title="Explicit settings" values={fixed ?? given} none="All settings have the protocol's defaults." />
      <Facts title="Hyperparameters" values={hparams} />
      {plugins.map(({ id, settings: values }) => (
        <Facts key={id} title={id} values={values} />
      ))}
      <Facts title="Run" values={{ folder, ...plain }} />
      <Facts title="Environment" values={environment} none="Not written yet." />
    </div>
  );
}

interface FactsProps {
  readonly title: string;
  readonly values?: Values | null;
  readonly none?: string;
}

function Facts({ title, values, none = "None." }: FactsProps): JSX.Element {
  const rows = Object.entries(values ?? {});
  return (
    <section>
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="soft">{none}</p>
      ) : (
        <dl>
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{valueText(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function valueText(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.join(", ") || "none";
  if (value === null || value === "") return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The log, scrolled to its end. It stays at the end when lines arrive, unless the user has scrolled up. */
export function Log({ log, logCut, packed }: RunDetails): JSX.Element {
  const text = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current) text.current!.scrollTop = text.current!.scrollHeight;
  });
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: TargetedEvent<HTMLElement>): void => {
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 8;
  };
  return (
    <div class="log">
      <p class="soft">{logCut ? "This is the end of the log; the rest is in log.txt." : ""}</p>
      <pre tabIndex={0} role="log" aria-label="Log" ref={text} onScroll={onScroll}>
        {log || (packed ? "Logs are not packed." : "Nothing was logged yet.")}
      </pre>
    </div>
  );
}
