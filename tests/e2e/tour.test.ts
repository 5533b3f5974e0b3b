/** `nudge tour` with small stand-ins for the packages of emoji, and a network with random weights. */

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { backbones } from "../../src/backbones/index.js";
import { main } from "../../src/cli/main.js";
import { sentence } from "../../src/cli/tour.js";
import { NEW, SEEN } from "../../src/cli/tour-lists.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { writeWeights } from "../../src/engine/weights.js";
import { npmRegistry, type TestRegistry } from "../support/npm-registry.js";
import { temporaryFolder } from "../support/picture-folder.js";
import { catchPrinted } from "../support/printed.js";
import { addSmallSets } from "../support/small-emoji.js";

const STYLES = ["noto", "openmoji", "fluent-emoji-flat", "emojione-monotone", "twemoji"];
const held = vi.hoisted(() => ({ sets: [] as unknown[] }));
vi.mock("../../src/get-data/emoji-sets.js", async (original) => ({
  ...(await original<object>()),
  setsNamed: () => held.sets,
}));

const printed = catchPrinted();
let folder: string;
let registry: TestRegistry;

beforeEach(async () => {
  folder = temporaryFolder();
  registry = await npmRegistry();
  held.sets = addSmallSets(registry, STYLES);
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("NUDGE_WEIGHTS", join(folder, "weights"));
  for (const name of ["NUDGE_DOWNLOAD", "NUDGE_NO_DOWNLOAD"]) vi.stubEnv(name, "");
});

/** The weights that the tour is asked for, with random values. */
function writeRandomWeights(): void {
  mkdirSync(join(folder, "weights"));
  using network = backbones.mobilenet_v2.build({}).initialize(new Random(1));
  scope(() => writeWeights(join(folder, "weights", "mobilenet_v2-b0353104.pth"), network.stateDict()));
}

const out = (): string => join(folder, "tour");
const tour = async (...args: string[]): Promise<number> => {
  const code = await main(["tour", "--out", out(), "--weights", "mobilenet_v2", "--budget", "1min", ...args]);
  process.exitCode = undefined;
  return code;
};

test("trains on four styles by the default, evaluates on a fifth that nothing has seen, and names the pages", async () => {
  writeRandomWeights();
  expect(await tour("--yes")).toBe(0);
  expect(printed.stderr).toMatch(/^This tour needs \d.* from npm:\n {2}emoji/); // before anything is downloaded
  const listed = readFileSync(join(out(), "train.csv"), "utf8").trim().split("\n").slice(1);
  const emoji = listed.map((line) => /([0-9a-f-]+)\.png/.exec(line)![1]);
  expect(new Set(emoji).size).toBe(emoji.length); // each picture shows another emoji
  expect(new Set(listed.map((line) => line.split(",")[2]))).toEqual(new Set(STYLES.slice(0, 4)));
  const test = readFileSync(join(out(), "twemoji.csv"), "utf8");
  for (const line of test.trim().split("\n").slice(1)) {
    const [, code] = /emoji\/twemoji\/\w+\/([0-9a-f-]+)\.png/.exec(line)!;
    expect(line.endsWith(emoji.includes(code) ? SEEN : NEW)).toBe(true);
  }
  expect(printed.stdout).toMatch(
    /Accuracy on twemoji, a style that this model has never seen.*\n {2}new emoji .* pictures\)/,
  );
  expect(printed.stdout).toContain("What was learned: ");
  const page = /^mistakes: (.*)$/m.exec(printed.stdout)![1];
  expect(readFileSync(page, "utf8")).toContain("<html");
  const asked = registry.asked.length;
  printed.stdout = "";
  expect(await tour("--json")).toBe(0); // what is there is used, so nothing is asked
  expect(registry.asked).toHaveLength(asked);
  expect(JSON.parse(printed.stdout)).toMatchObject({ withheld: "twemoji", mistakes: page });
}, 240_000);

test("without consent or a network it says what is missing, how large it is and how to bring it", async () => {
  expect(await tour()).toBe(2);
  expect(printed.stderr).toMatch(/This tour needs .* from npm:\n {2}emoji {4}\S+ \S+: noto \(Ann, MIT\)/);
  expect(printed.stderr).toContain("nothing was downloaded; in a script, use --yes or NUDGE_DOWNLOAD=1");
  expect(printed.stderr).toContain("npm pack @small/noto@1.0.0 @small/openmoji@1.0.0");
  expect(printed.stderr).toContain(`npx nudge data get emoji --root ${out()} --from`);
  registry.instead = (_, response) => response.writeHead(502).end();
  expect(await tour("--yes")).toBe(1);
  expect(printed.stderr).toMatch(/downloading the npm package @small\/noto@1\.0\.0 .*\n/);
  expect(existsSync(join(out(), "emoji"))).toBe(false);
  const other = join(folder, "other");
  expect(await main(["tour", "--out", other, "--weights", "no-such"])).toBe(2);
  expect(existsSync(other)).toBe(false); // nothing is made before the options are known to be right
  expect(printed.stderr).toContain("--weights no-such: nudge weights list prints the names");
}, 120_000);

test("the last sentence says what the numbers say", () => {
  const share = (accuracy: number, width: number) => ({
    ...{ accuracy, count: 100, right: 100 * accuracy },
    interval: [accuracy - width, accuracy + width] as const,
  });
  expect(sentence({ fresh: share(0.62, 0.08), seen: share(0.76, 0.05), expected: 0.42 })).toBe(
    "the accuracy on new emoji in a style that the model never saw is 62.0 %; held-out styles had promised 42.0 %, which was too low; on emoji that another style showed it is 76.0 %, because the model recognises the emoji too, and not only the class.",
  );
  expect(sentence({ fresh: share(0.5, 0.08), seen: share(0.52, 0.05), expected: 0.55 })).toBe(
    "the accuracy on new emoji in a style that the model never saw is 50.0 %; held-out styles had promised 55.0 %, and this agrees with it; on emoji that another style showed it is 52.0 %, which is no clear difference.",
  );
});
