import { expect, test } from "vitest";
import { catchPrinted } from "../../tests/support/printed.js";
import { version } from "../library/version.js";
import { main } from "./main.js";

const printed = catchPrinted();

test("--help lists every verb and loads none", async () => {
  expect(await main(["--help"])).toBe(0);
  expect(printed.stdout).toMatch(/^Usage: nudge <verb> \[options\]/);
  for (const verb of ["quickstart", "doctor", "synthetic", "theory", "bench"])
    expect(printed.stdout).toMatch(new RegExp(`^ {2}${verb} `, "m"));
});

test("--help and the verb help print the same help of a verb", async () => {
  expect(await main(["doctor", "--help"])).toBe(0);
  const own = printed.stdout;
  expect(own).toMatch(/--json/);
  printed.stdout = "";
  expect(await main(["help", "doctor"])).toBe(0);
  expect(printed.stdout).toBe(own);
});

test("--version prints the package's", async () => {
  expect(await main(["--version"])).toBe(0);
  expect(printed.stdout).toBe(`${version()}\n`);
  expect(version()).toMatch(/^\d+\.\d+\.\d+/);
});

test("an unknown verb is an error that suggests the nearest one, and exits with 2", async () => {
  expect(await main(["docter"])).toBe(2);
  expect(printed.stderr).toMatch(/^nudge: unknown verb "docter": did you mean "doctor"\? \(known: /);
  printed.stderr = "";
  expect(await main(["help", "constructor"])).toBe(2);
  expect(printed.stderr).toMatch(/^nudge: unknown verb "constructor"/);
});

test("a missing argument is reported, with the usage of the verb", async () => {
  expect(await main(["predict", "model.safetensors"])).toBe(2);
  expect(printed.stderr).toBe(
    "nudge: missing required argument 'pictures'\nUsage: nudge predict [options] <model> <pictures...>\n",
  );
});

test("a folder in place of a setting is a usage error that says how to pass pictures", async () => {
  expect(await main(["train", "src"])).toBe(2);
  expect(printed.stderr).toBe(
    'nudge: "src": expected a setting as key=value, such as lr=1e-4; for pictures in src: --data src\n',
  );
});

test.each(["--peer", "--compile", "--repeats=3", "--algorithm=all", "--threads=1"])(
  "bench step --profile with %s is an error, because a profile compares nothing",
  async (option) => {
    expect(await main(["bench", "step", "--profile", option])).toBe(2);
    expect(printed.stderr).toBe(
      `nudge: bench step --profile lists the kernels of one step and compares nothing; remove ${option.split("=")[0]}, or remove --profile to measure times\n`,
    );
  },
);

test.each([
  [["train", "--test_envs", "0"], "--test_envs", "--test-domain, with domains by name"],
  [["sweep", "plan", "--test_envs", "0"], "--test_envs", "--test-domains, with domains by name"],
  [["sweep", "plan", "--data_dir=x"], "--data_dir=x", "--root"],
  [["sweep", "plan", "--n_trials_from", "1"], "--n_trials_from", "a range: --trials 1-2"],
  [["train", "--holdout_fraction", "0.1"], "--holdout_fraction", "the setting holdout=0.2"],
])("DomainBed's option in %j is an error that shows ours", async (args, option, ours) => {
  expect(await main(args)).toBe(2);
  expect(printed.stderr).toBe(`nudge: unknown option '${option}'\n(an option of DomainBed; here: ${ours})\n`);
});

test.each([
  ["--lr", "the setting lr=1e-4, as an argument"],
  ["--epochs", "--steps, the number of updates: pictures × epochs / pictures in an update"],
  ["--model", "--backbone"],
  ["--imgsz", "the setting size=224"],
  ["--batch", "--batch-size"],
])("the option %s of other programs is answered with ours", async (option, ours) => {
  expect(await main(["train", option, "1"])).toBe(2);
  expect(printed.stderr).toBe(`nudge: unknown option '${option}'\n(here: ${ours})\n`);
});

test("an unknown subcommand is an error that lists the known ones", async () => {
  expect(await main(["sweep", "launch"])).toBe(2);
  expect(printed.stderr).toBe(
    "nudge: unknown command 'launch' (known: plan, run, status, retry, cancel, clean, help)\n",
  );
});

test("a wrong option, an extra argument and a missing verb exit with 2", async () => {
  expect(await main(["doctor", "--jsn"])).toBe(2);
  expect(printed.stderr).toMatch(/^nudge: unknown option '--jsn'\n\(Did you mean --json\?\)/);
  expect(await main(["doctor", "extra"])).toBe(2);
  expect(await main(["--nothing"])).toBe(2);
  printed.stderr = "";
  expect(await main([])).toBe(2);
  expect(printed.stderr).toMatch(/^Usage: nudge/);
});

test.each([
  [["lr=1e-4", "lr=1e-3"], "lr is given twice: lr=1e-4 and lr=1e-3"],
  [["--steps", "20", "steps=30"], "steps is given twice: --steps 20 and steps=30"],
  [["--batch-size", "2", "batchSize=3"], "batchSize is given twice: --batch-size 2 and batchSize=3"],
  [["--probe", "lr=1e-3"], "lr: the exact probe is solved to convergence without updates of gradient descent"],
  [["lr=10^U(-4, -2)"], "a range is for a search, and this is none"],
])("train %j is a usage error", async (words, message) => {
  expect(await main(["train", "--data", "shapes", "--test-domain", "filled", ...words])).toBe(2);
  expect(printed.stderr).toContain(message);
});
