/**
 * The tables of all algorithms in docs/algorithms.md: their cost from a record of `nudge bench step --algorithm all`, what
 * they need and their switches from their definitions, and what surprises from the list below.
 */
import { algorithms } from "../../dist/algorithms/index.js";
import { COST_COLUMNS, costCells } from "../../dist/cli/bench-algorithms.js";
import { markdown } from "./rows.mjs";

/** What may surprise in the default form of a method. @type {Readonly<Record<string, string>>} */
const QUIRKS = {
  mmd: "features can collapse at the default weight on small networks",
  "mix-style": "each stage mixes with probability ½, so the time varies",
  "group-dro": "the weights of the domains are kept between updates",
  irm: "weight 1 until `annealSteps`, then Adam is reset",
  arm: "the context network is not trained",
  vrex: "weight 1 until `annealSteps`, then Adam is reset",
  cdann: "every second update trains only the discriminator",
  "and-mask": "`tau=1` keeps a component only if the domains agree on its sign",
  dann: "every second update trains only the discriminator",
  mtl: "the embedding is noise",
  mixup: "`alpha` is searched in the intended range and not in DomainBed's",
  mldg: "to first order; each domain is evaluated on the next one",
  fish: "no ERM before, and domains in a fixed order, as in DomainBed",
  fishr: "weight 0 until `annealSteps`, then Adam is reset",
  "sag-net": "styles of feature vectors and not of maps",
  "self-reg": "the projector is not trained",
  mdsdi: "two backbones",
  miro: "keeps the starting network",
  "erm-plus-plus":
    "501 updates train only the classifier; predicts with an average, which trained batch norm costs a forward pass",
  "sand-mask": "the default `tau=1` masks every gradient",
  iga: "differentiates gradients; the default weight is large",
  trm: "ERM until `startSteps`; 30 steps of a head of each domain per update",
  "ib-erm": "weight 0 until `bottleneckSteps`, then Adam is reset",
  "ib-irm": "Adam is reset where each of the two penalties starts",
  transfer: "two steps of the network and ten of an adversarial head per update",
  eqrm: "ERM until `burnInSteps`, then the learning rate is `quantileLr`",
  rdm: "weight 0 until `annealSteps`, then the learning rate is `matchingLr`",
  adrmx: "two backbones; trains the network in every third update",
  "causirl-mmd": "as MMD",
};

/** @param {import("../../dist/algorithms/algorithm.js").AlgorithmDefinition} definition */
function needsOf({ needsDomains, domainFree, minDomains = 1, backbone }) {
  const free = Object.entries(domainFree ?? {}).map(([name, value]) => `\`${name}=${value}\``);
  const labels = minDomains > 1 ? `labels of ${minDomains} domains` : "domain labels";
  return [
    ...(needsDomains ? [`${labels}${free.length > 0 ? ` (not with ${free.join(" ")})` : ""}`] : []),
    ...(backbone?.extraChannels ? ["pictures"] : []),
    ...(backbone?.stages === "maps" ? ["inner maps"] : backbone?.stages ? ["inner maps or tokens"] : []),
  ].join(", ");
}

/** @param {import("../../dist/algorithms/algorithm.js").AlgorithmDefinition} definition */
const switchesOf = ({ hparams }) =>
  Object.entries(hparams)
    .flatMap(([name, { variants }]) => (variants ? [`\`${name}\``] : []))
    .join(", ");

/**
 * The table. An algorithm that is newer than the record has no numbers.
 * @param {import("../../dist/bench/algorithms.js").AlgorithmsResult} result
 */
export function methodsTable({ rows }) {
  const unknown = Object.keys(QUIRKS).find((id) => !Object.hasOwn(algorithms, id));
  if (unknown !== undefined) throw new Error(`methods.mjs: there is no algorithm ${unknown}`);
  const header = ["algorithm", "time / ERM", "memory / ERM", "passes", "needs", "switches", "what may surprise"];
  const cells = Object.values(algorithms).map((definition) => {
    const row = rows.find(({ id }) => id === definition.id);
    const [title, , time, , memory, passes] = row
      ? costCells(row)
      : [definition.title, "", ...Array(4).fill("not measured")];
    const own = [needsOf(definition), switchesOf(definition), QUIRKS[definition.id] ?? ""];
    return [title, time, memory, passes, ...own.map((cell) => cell || "–")];
  });
  return tableOf(header, cells, (i) => i >= 1 && i <= 3);
}

/** The costs alone. @param {import("../../dist/bench/algorithms.js").AlgorithmsResult} result */
export const costsTable = ({ rows }) => tableOf(COST_COLUMNS, rows.map(costCells), (i) => i >= 1);

/** @param {readonly string[]} header @param {readonly (readonly string[])[]} cells @param {(i: number) => boolean} isNumber */
function tableOf(header, cells, isNumber) {
  const rule = header.map((_, i) => (isNumber(i) ? "---:" : "---"));
  return markdown([header, rule, ...cells]);
}
