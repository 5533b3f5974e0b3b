/**
 * Folders that somebody else made: every file that a run, a sweep, a pack, a model, a cache or a folder of pictures can hold, replaced
 * in every way, under every command that reads it. Each combination must end in time, without a stack or a crash; an error
 * names the file or its folder; and no file outside is changed, made or removed.
 *
 * `npm test` runs a part, chosen evenly; NUDGE_LONG=1 runs all.
 */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandEnd, HostileRunner } from "../support/hostile-runner.js";
import { makePictureFolder } from "../support/made-pictures.js";

const IN_SHORT = Number(process.env.NUDGE_HOSTILE ?? 200);
const MOST_MS = Number(process.env.NUDGE_HOSTILE_MS ?? 20_000);
const isLong = process.env.NUDGE_LONG !== undefined;

const top = mkdtempSync(join(tmpdir(), "nudge-hostile-"));
const at = (...names: string[]): string => join(top, ...names);
const [outside, pictures] = [at("outside"), at("pictures")];
const runner = new HostileRunner({ XDG_CACHE_HOME: at("cache-home"), OMP_NUM_THREADS: "1" });
afterAll(() => {
  runner[Symbol.dispose]();
  rmSync(top, { recursive: true, force: true });
}, 60_000);

/** What a file is replaced by. Returns what ends it. */
type Attack = (path: string) => undefined | (() => void);
const remade =
  (make: (path: string) => void): Attack =>
  (path) => {
    rmSync(path, { recursive: true, force: true });
    make(path);
    return undefined;
  };
const isRoot = process.getuid?.() === 0;
const ATTACKS: Readonly<Record<string, Attack>> = {
  "a link to a file outside": remade((path) => symlinkSync(join(outside, "secret"), path)),
  "a link to a folder outside": remade((path) => symlinkSync(outside, path)),
  "a link to itself": remade((path) => symlinkSync(basename(path), path)),
  "a link to a device": remade((path) => symlinkSync("/dev/zero", path)),
  "a named pipe": remade((path) => void spawnSync("mkfifo", [path])),
  "a folder": remade((path) => mkdirSync(path)),
  empty: remade((path) => writeFileSync(path, "")),
  "a sparse file of 1 GB": remade((path) => {
    const fd = openSync(path, "w");
    ftruncateSync(fd, 1e9);
    closeSync(fd);
  }),
  unreadable: (path) => {
    chmodSync(path, 0);
    return undefined;
  },
  "a file that changes while it is read": (path) => {
    const whole = readFileSync(path);
    let turn = 0;
    const timer = setInterval(() => {
      try {
        writeFileSync(path, whole.subarray(0, turn++ % 2 === 0 ? whole.length >> 1 : whole.length));
      } catch {
        // the command removed it
      }
    }, 1);
    return () => clearInterval(timer);
  },
};

interface Kind {
  /** The folder that is copied for each combination, or a folder with the one file. */
  readonly template: string;
  /** Files to replace, besides those that the template has. */
  readonly also?: readonly string[];
  readonly skip?: RegExp;
  readonly commands: (place: string, out: string) => readonly (readonly string[])[];
}

const SMALL = "--backbone toy-cnn --no-pretrained --algorithm erm --steps 2 --eval-every 1 --batch-size 2 --threads 1";
const training = (...words: string[]): string[] => [
  ...["train", "--data", pictures, "--test-domain", "c", ...SMALL.split(" "), "--quiet"],
  ...words,
];

const KINDS: Readonly<Record<string, Kind>> = {
  run: {
    template: at("template-run"),
    also: ["failure/failure.json", "retrained/settings.json", "estimate.json", "recipe.json", "lock/now/owner.json"],
    commands: (run, out) => [
      ["train", "--resume", run, "--quiet"],
      ["report", run],
      ["pack", run, "--out", `${out}.nudge`],
      ["eval", run, "--data", pictures],
      ["predict", run, pictures],
      ["export", run, "--out", `${out}.onnx`],
      training("--config", join(run, "settings.json"), "--out", out, "--seed", "7"),
      ["train", "--retrain", run, "--out", out, "--quiet"],
      ["soup", run, at("template-run"), "--out", out],
      training("--against", run, "--out", out, "--seed", "8"),
    ],
  },
  sweep: {
    template: at("template-sweep"),
    also: [
      "attempts/0123456789abcdef.json",
      "launch/cancelled-at",
      "launch/cancelled/0123456789abcdef",
      "launch/threads",
    ],
    skip: /^runs\/.*\/(checkpoint|figures|events|model|report|log|held|training-pic)/,
    commands: (sweep, out) => [
      ["sweep", "status", sweep],
      ["sweep", "cancel", sweep],
      ["sweep", "retry", sweep],
      ["sweep", "clean", sweep, "--models", "--yes"],
      ["report", sweep],
      ["pack", sweep, "--out", `${out}.nudge`],
    ],
  },
  pack: {
    template: at("template-pack"),
    commands: (folder, out) => [
      ["report", join(folder, "study.nudge")],
      ["unpack", join(folder, "study.nudge"), "--out", out],
    ],
  },
  model: {
    template: at("template-model"),
    commands: (folder, out) => [
      ["predict", join(folder, "model.safetensors"), pictures],
      ["eval", join(folder, "model.safetensors"), "--data", pictures],
      ["export", join(folder, "model.safetensors"), "--out", `${out}.onnx`],
      ["embed", join(folder, "model.safetensors"), "--data", pictures, "--out", out],
      training("--weights", join(folder, "model.safetensors"), "--out", out),
    ],
  },
  cache: {
    template: at("template-cache"),
    commands: (cache, out) => [
      ["data", "cache", pictures, "--out", cache, "--short-side", "256"],
      training(`cache=${cache}`, "--out", out, "--seed", "9"),
    ],
  },
  pictures: {
    template: at("template-pictures"),
    skip: /[^0]\.png$/,
    commands: (folder, out) => [
      ["data", "inspect", folder],
      ["predict", at("template-run"), folder],
      ["data", "cache", folder, "--out", out],
      ["eval", at("template-run"), "--data", folder],
      ["train", "--data", folder, "--test-domain", "c", ...SMALL.split(" "), "--quiet", "--out", out],
    ],
  },
};

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const mustRun = async (...args: string[]): Promise<void> => {
  const end = await runner.run(args, 120_000);
  expect(end.code, `${args.join(" ")}: ${end.text}${end.thrown ?? ""}`).toBe(0);
};

beforeAll(async () => {
  mkdirSync(outside);
  writeFileSync(join(outside, "secret"), "a secret\n");
  const size = (): [number, number] => [20, 16];
  await makePictureFolder(pictures, { perCell: 3, domains: ["a", "b", "c"], size });
  cpSync(pictures, at("template-pictures"), { recursive: true });
  await mustRun(...training("--out", at("runs"), "--name", "one"));
  cpSync(at("runs/one"), at("template-run"), { recursive: true, dereference: true });
  mkdirSync(at("template-model"));
  cpSync(at("template-run/model.safetensors"), at("template-model/model.safetensors"));
  mkdirSync(at("template-pack"));
  await mustRun("pack", at("template-run"), "--out", at("template-pack/study.nudge"));
  await mustRun("data", "cache", pictures, "--out", at("template-cache"), "--short-side", "256");
  const plan = `sweep plan --data ${pictures} --test-domains c --algorithms erm --trials 1 --no-measure --out ${at("template-sweep")}`;
  const settings = "backbone=toy-cnn pretrained=false steps=2 evaluateEvery=1 batchSize=2";
  await mustRun(...`${plan} ${settings}`.split(" "));
  const [line] = readFileSync(at("template-sweep/plan.jsonl"), "utf8").split("\n");
  cpSync(at("template-run"), at("template-sweep/runs", (JSON.parse(line) as { name: string }).name), {
    recursive: true,
  });
}, 180_000);

/** Every file outside the folder of a combination, with what any change of it would change. */
function stateOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .sort()
    .map((name) => {
      const { size, mtimeMs, ctimeMs, mode } = lstatSync(join(folder, name));
      return `${name} ${size} ${mtimeMs} ${ctimeMs} ${mode}`;
    });
}
const guarded = (): string[] =>
  ["outside", ...Object.keys(KINDS).map((kind) => `template-${kind}`), "pictures"].flatMap((name) => [
    name,
    ...stateOf(at(name)),
  ]);

interface Combination {
  readonly kind: string;
  readonly file: string;
  readonly attack: string;
  readonly command: number;
}

function combinations(): Combination[] {
  return Object.entries(KINDS).flatMap(([kind, { template, also = [], skip, commands }]) => {
    const files = [...new Set([...filesOf(template), ...also])].filter((file) => !skip?.test(file));
    return files.flatMap((file) =>
      Object.keys(ATTACKS).flatMap((attack) => commands("", "").map((_, command) => ({ kind, file, attack, command }))),
    );
  });
}

/** What is wrong with how a command ended; undefined if nothing is. */
function faultOf({ code, thrown, crashed, hung, text }: CommandEnd, names: readonly string[]): string | undefined {
  if (hung) return `did not end within ${MOST_MS / 1000} s`;
  if (crashed) return `the process ended with ${crashed}`;
  if (thrown) return `threw ${thrown.split("\n")[0]}`;
  if (/^ {4}at .*[:(]/m.test(text)) return `printed a stack: ${text.split("\n")[0]}`;
  if (code === 0) return undefined;
  return names.some((name) => text.includes(name)) ? undefined : `does not name the file: ${text.slice(0, 200)}`;
}

test("hostile folders end commands in time, by name, and change nothing outside", { timeout: 3_600_000 }, async () => {
  const all = combinations();
  const skipped = new Map<string, number>();
  const wanted = all.filter(({ kind, file, attack, command }) => {
    const isThere = existsSync(join(KINDS[kind].template, file));
    const why =
      file === "lock/now/owner.json" && command === 0
        ? "the owner of a lock: a resume waits for 30 s until it counts as dead"
        : attack === "unreadable" && isRoot
          ? "unreadable: root reads every file"
          : !isThere && /^(unreadable|a file that changes)/.test(attack)
            ? `${attack}: the file is not always there`
            : undefined;
    if (why) skipped.set(why, (skipped.get(why) ?? 0) + 1);
    return why === undefined;
  });
  // Evenly over the list, in another order, so that a part has every kind, file, attack and command. Training takes ten
  // times as long as the other commands.
  const partOf = (list: readonly Combination[], count: number): readonly Combination[] =>
    isLong ? list : list.filter((_, i) => (i * 7919) % list.length < count);
  const isSlow = ({ kind, command }: Combination): boolean => {
    const [verb, option] = KINDS[kind].commands("", "")[command];
    return verb === "soup" || (verb === "train" && option !== "--resume");
  };
  const chosen = [
    ...partOf(
      wanted.filter((each) => !isSlow(each)),
      IN_SHORT,
    ),
    ...partOf(wanted.filter(isSlow), Math.ceil(IN_SHORT / 10)),
  ];
  const faults: string[] = [];
  const before = guarded();
  for (const [n, { kind, file, attack, command }] of chosen.entries()) {
    const place = at("work", `${kind}-${n}`);
    cpSync(KINDS[kind].template, place, { recursive: true });
    if (kind === "run" && command === 0) rmSync(join(place, "done"), { force: true }); // so that there is work
    mkdirSync(dirname(join(place, file)), { recursive: true });
    const args = KINDS[kind].commands(place, at("work", `out-${n}`))[command];
    const stop = ATTACKS[attack](join(place, file));
    const end = await runner.run(args, MOST_MS);
    stop?.();
    const names = [file, basename(file), basename(place)];
    const fault = faultOf(end, names);
    const now = guarded();
    const changed = now.filter((line, i) => line !== before[i]);
    const verb = args.slice(0, args[0] === "sweep" || args[0] === "data" ? 2 : 1).join(" ");
    const what = `${kind}: ${file} is ${attack}, ${verb}${args[1]?.startsWith("--") ? ` ${args[1]}` : ""}`;
    if (fault) faults.push(`${what}: ${fault}`);
    if (changed.length > 0 || now.length !== before.length) {
      faults.push(`${what}: changed ${changed.slice(0, 2).join("; ") || "the files"} outside`);
      before.splice(0, before.length, ...now);
    }
    for (const path of readdirSync(at("work"))) {
      truncateSparse(at("work", path));
      rmSync(at("work", path), { recursive: true, force: true });
    }
  }
  const skips = [...skipped].map(([why, count]) => `${count} ${why}`).join("; ");
  console.log(
    `${chosen.length} of ${wanted.length} combinations of a file, an attack and a command, ${faults.length} with a fault; skipped: ${skips || "none"}`,
  );
  if (process.env.NUDGE_HOSTILE_LIST) writeFileSync(process.env.NUDGE_HOSTILE_LIST, `${faults.join("\n")}\n`);
  expect(faults).toEqual([]);
});

/** A sparse file takes long to remove on some file systems. */
function truncateSparse(path: string): void {
  try {
    if (lstatSync(path).isFile()) truncateSync(path);
  } catch {
    // not a file
  }
}
