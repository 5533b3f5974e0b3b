import { Command } from "commander";
import { expect, test } from "vitest";
import { algorithms } from "../algorithms/index.js";
import { listCommand } from "./list.js";

/** The output of `nudge list …`. */
async function printed(...args: string[]): Promise<string> {
  let text = "";
  const command = listCommand((part) => {
    text += part;
  });
  await new Command("nudge").addCommand(command).parseAsync(["list", ...args], { from: "user" });
  return text;
}

const json = async (kind: string): Promise<Record<string, unknown>[]> => JSON.parse(await printed(kind, "--json"));

test("every algorithm of the paper's Table 1 is listed by id and title, with its paper and what it needs", async () => {
  const text = await printed("algorithms");
  for (const { id, title, paper } of Object.values(algorithms)) {
    expect(text).toMatch(new RegExp(`^${id} +${title.replaceAll("+", "\\+")}: needs`, "m"));
    expect(text).toContain(paper);
  }
  for (const name of ["ERM-NU", "Mixup-NU", "SWAD", "SWAD-NU", "SWAD-CORAL", "SWAD-MIRO"]) expect(text).toContain(name);
  expect(text).toMatch(/^dann +DANN: needs domain labels, at least 2 training domains$/m);
  expect(text).toMatch(/^sam +SAM: needs no domain labels$/m);
  expect(text).toMatch(/^miro +MIRO: needs no domain labels, a backbone with intermediate maps$/m);
});

test("a hyperparameter has its default, its range and the reference's name; a variant has what it may be", async () => {
  const text = await printed("algorithms");
  expect(text).toMatch(/^ {4}eta +0\.01 +10\^U\(-3, -1\) +groupdro_eta$/m);
  expect(text).toMatch(/^ {4}divideByDomains +false +false \| true$/m);
  expect(text).toMatch(/^ {4}featureDrop +0\.333333 +U\(0, 0\.5\) +rsc_f_drop_factor$/m);
  const mldg = (await json("algorithms")).find(({ id }) => id === "mldg");
  expect(mldg).toMatchObject({ title: "MLDG", needsDomains: true, minDomains: 2 });
  expect(mldg?.hparams).toContainEqual({ name: "pairing", default: "cyclic", accepts: "cyclic | meta-test" });
  expect(mldg?.hparams).toContainEqual({ name: "beta", default: 1, range: "10^U(-1, 1)", reference: "mldg_beta" });
});

test("hyperparameters that depend on the size of the pictures are listed for both sizes", async () => {
  const dann = (await json("algorithms")).find(({ id }) => id === "dann");
  expect(dann?.hparams).toContainEqual({ name: "lrG", default: 5e-5, range: "10^U(-5, -3.5)", reference: "lr_g" });
  expect(dann?.hparamsOnSmallPictures).toContainEqual({
    ...{ name: "lrG", default: 1e-3, range: "10^U(-4.5, -2.5)", reference: "lr_g" },
  });
});

test.each([
  ["datasets", "pacs", "PACS: paintings, cartoons, photos and sketches of seven kinds of things; domains art_painting"],
  ["backbones", "resnet50", "ResNet-50: 2048 features, 23.5 million parameters; initial weights: "],
  ["regularizers", "nuclear-norm", "NU"],
  ["averaging", "swad", "SWAD"],
  ["selections", "training-domain", "training-domain validation set: the step and hyperparameters"],
])("%s are listed as well", async (kind, id, words) => {
  expect(await printed(kind)).toMatch(new RegExp(`^${id} +${words}`, "m"));
  expect((await json(kind)).map((entry) => entry.id)).toContain(id);
});

test("settings come with what they accept and mean", async () => {
  const nu = (await json("regularizers")).find(({ id }) => id === "nuclear-norm");
  expect(nu?.hparams).toContainEqual({ name: "weight", default: 0.01, range: "10^U(-2.5, -1.5)", reference: "theta" });
  expect(await printed("regularizers")).toMatch(
    /^ {4}batchSize +32 +int\(2\^U\(5, 6\)\) +a search draws it from this range, and from int\(2\^U\(3, 5\.5\)\) without/m,
  );
  expect(await printed("regularizers")).toMatch(/^ {4}scaling +per-sample +per-sample \| sum +\w/m);
  expect(await printed("averaging")).toMatch(/^ {4}tolerance +0\.3 +a number from 0 +how far/m);
});

test("an unknown list is a usage error that suggests the nearest name", async () => {
  await expect(printed("algoritms")).rejects.toThrow('unknown list "algoritms": did you mean "algorithms"?');
});
