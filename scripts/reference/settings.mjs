/** The page of settings: the keys of a run, the protocols, and the hyperparameters that every algorithm has. */
import { code, page, short, table } from "./markdown.mjs";

/**
 * @typedef {{ default: unknown, range: { text: string }, reference?: string }} Hparam
 * @typedef {{ kind: { accepts: string }, default?: unknown, help: string }} Option
 */

/** @param {(path: string) => Promise<any>} load */
export async function settingsPage(load) {
  const [{ keys }, { protocols }, { sharedHparams }] = await Promise.all([
    load("settings/keys"),
    load("settings/protocols"),
    load("algorithms/shared-hparams"),
  ]);
  /** @type {[string, Record<string, Hparam>][]} */
  const kinds = [
    ["large pictures", sharedHparams({ dataset: "pacs", size: "large" })],
    ["DomainNet", sharedHparams({ dataset: "domain-net", size: "large" })],
    ["small pictures", sharedHparams({ dataset: "rotated-mnist", size: "small" })],
  ];
  return page(
    "Settings",
    "Settings come from defaults, then `--config file.yaml`, then the command line: `key=value`, or the option of the same meaning (`--eval-every 100` is `evaluateEvery=100`). An unknown key is an error that names the nearest one. A run's `settings.json` has all of them as they were resolved, and is itself a file for `--config`.",
    "Settings of algorithms, regularizers, averages and datasets are on their own pages; where a name has several owners, put the owner before it: `mixup.alpha=0.1`, `nuclear-norm.weight=0.03`, `data.size=32`.",
    "## Of a run",
    table(
      ["key", "takes", "default", "meaning"],
      Object.entries(/** @type {Record<string, Option>} */ (keys)).map(([name, { kind, default: usual, help }]) => [
        code(name),
        kind.accepts,
        usual === undefined ? "" : code(String(usual)),
        help,
      ]),
    ),
    "## Protocols",
    "What settles steps, evaluations and validation where they are not given (`protocol=swad`):",
    Object.entries(/** @type {Record<string, string>} */ (protocols))
      .map(([name, text]) => `- ${code(name)}: ${text}.`)
      .join("\n"),
    "## Shared hyperparameters",
    "Every algorithm has these, with the reference testbed's defaults and search ranges: the default, then what a draw (`hparamsSeed` other than 0) draws from. An algorithm or a regularizer may have others in their place: with the nuclear norm, `batchSize` is drawn from int(2^U(5, 6)).",
    table(
      ["setting", "the reference's name", ...kinds.map(([name]) => name)],
      Object.keys(kinds[0][1]).map((name) => [
        code(name),
        code(kinds[0][1][name].reference),
        ...kinds.map(([, hparams]) => `${code(short(hparams[name].default))}, ${hparams[name].range.text}`),
      ]),
    ),
  );
}
