/** The page of settings: the keys of a run, the protocols, and the hyperparameters that every algorithm has. */
import { code, page, short, table } from "./markdown.mjs";

/**
 * @typedef {{ default: unknown, range: { text: string }, reference?: string }} Hparam
 * @typedef {{ kind: { accepts: string }, default?: unknown, help: string, pooled?: string }} Option
 */

/** @param {(path: string) => Promise<any>} load */
export async function settingsPage(load) {
  const [{ keys }, { protocols }, { sharedHparams }, { swad }] = await Promise.all([
    load("declared-settings/keys"),
    load("settings/protocols"),
    load("algorithms/shared-hparams"),
    load("averaging/swad"),
  ]);
  /** @type {[string, Record<string, Hparam>][]} */
  const kinds = [
    ["large pictures", sharedHparams({ dataset: "pacs", size: "large" })],
    ["DomainNet", sharedHparams({ dataset: "domain-net", size: "large" })],
    ["small pictures", sharedHparams({ dataset: "rotated-mnist", size: "small" })],
  ];
  return page(
    "Settings",
    "Settings come from defaults, then `--config file.yaml`, then the command line: `key=value`, or the option of the same meaning (`--eval-every 100` is `evaluateEvery=100`). An unknown key is an error that names the nearest one. The `settings.json` of a run has all of them with their values, and can be given to `--config`.",
    "Settings of algorithms, regularizers, averages and datasets are on their own pages. If several of them have a setting of the same name, use a prefix: `mixup.alpha=0.1`, `nuclear-norm.weight=0.03`, `data.size=32`.",
    "## Settings of a run",
    table(
      ["key", "takes", "default", "meaning"],
      Object.entries(/** @type {Record<string, Option>} */ (keys)).map(([name, { kind, default: usual, help }]) => [
        code(name),
        kind.accepts,
        usual === undefined ? "" : code(String(usual)),
        help,
      ]),
    ),
    "## Settings that can differ within a cell",
    "A cell of a table is a mean over trials, and in a search each trial is chosen from draws. All else must be equal: runs that differ in any other setting, in their samples, in their starting weights or in the code of a plug-in are in different rows, labelled by what differs. These settings are the exceptions:",
    table(
      ["setting", "why its value can differ"],
      [
        ...Object.entries(/** @type {Record<string, Option>} */ (keys)),
        ["swad.afterValley", swad.settings.afterValley],
      ].flatMap(([name, { pooled }]) => (pooled === undefined ? [] : [[code(name), pooled]])),
    ),
    "## Protocols",
    "A protocol sets steps, evaluations and validation if you do not (`protocol=swad`):",
    Object.entries(/** @type {Record<string, string>} */ (protocols))
      .map(([name, text]) => `- ${code(name)}: ${text}.`)
      .join("\n"),
    "## Shared hyperparameters",
    "Every algorithm has these hyperparameters, with the defaults and search ranges of DomainBed. Each cell has the default and the range from which a draw (`hparamsSeed` other than 0) is taken. An algorithm or a regularizer may replace them: with the nuclear norm, `batchSize` is drawn from int(2^U(5, 6)).",
    table(
      ["setting", "DomainBed's name", ...kinds.map(([name]) => name)],
      Object.keys(kinds[0][1]).map((name) => [
        code(name),
        code(kinds[0][1][name].reference),
        ...kinds.map(([, hparams]) => `${code(short(hparams[name].default))}, ${hparams[name].range.text}`),
      ]),
    ),
  );
}
