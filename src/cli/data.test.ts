import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, writePictures } from "../../tests/support/picture-folder.js";
import { catchPrinted } from "../../tests/support/printed.js";
import { main } from "./main.js";

const printed = catchPrinted();

async function animals(): Promise<string> {
  const root = temporaryFolder();
  await writePictures(root, { "day/cat": 2, "day/dog": 2, "night/cat": 2, "night/dog": 1 });
  return root;
}

test("data inspect prints a table, and writes a page", async () => {
  const root = await animals();
  const page = join(root, "page.html");
  expect(await main(["data", "inspect", root, "--html", page, "--deep"])).toBe(0);
  expect(printed.stdout).toContain("cat      2      2    4\n");
  expect(printed.stdout).toContain("all 7 files look intact (7 decoded)\nno duplicates\n");
  expect(printed.stdout).toMatch(/\npage: .*page\.html\n$/);
  expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>/);
  expect(printed.stderr).toBe("");
});

test("data inspect --json is the inspection", async () => {
  expect(await main(["data", "inspect", await animals(), "--json"])).toBe(0);
  expect(JSON.parse(printed.stdout)).toMatchObject({
    id: "image-folder",
    counts: [
      [2, 2],
      [2, 1],
    ],
    problems: [],
    decoded: null,
  });
});

test("data inspect takes options of the dataset", async () => {
  expect(await main(["data", "inspect", "shapes", "perCell=3", "size=16"])).toBe(0);
  expect(printed.stdout).toMatch(/^Shapes \(shapes\): 84 samples, 4 domains, 7 classes\n/);
  expect(await main(["data", "inspect", "shapes", "data.perCell=3", "size=16"])).toBe(0); // as in nudge train
  expect(await main(["data", "inspect", "shapes", "perCell"])).toBe(2);
  expect(await main(["data", "inspect", "shapes", "percell=3"])).toBe(2);
  expect(printed.stderr).toMatch(/unknown option of dataset shapes "percell": did you mean "perCell"\?/);
});

test("data verify exits with 1 if a copy differs", async () => {
  const root = temporaryFolder();
  await writePictures(root, { "photo/dog": 1, "sketch/dog": 1 });
  expect(await main(["data", "verify", "pacs", root])).toBe(1);
  expect(printed.stdout).toContain("differs: domain cartoon is missing\n");
  expect(printed.stdout).toContain("\nlicence: ");
  expect(await main(["data", "verify", "pacs", root, "--json"])).toBe(1);
});

test("errors contain the folder or the nearest dataset, and exit with 1 or 2", async () => {
  const empty = temporaryFolder();
  expect(await main(["data", "inspect", empty])).toBe(1);
  expect(printed.stderr).toMatch(/^nudge: folder .*: found no pictures/);
  expect(await main(["data", "inspect", join(empty, "none")])).toBe(2);
  printed.stderr = "";
  expect(await main(["data", "verify", "packs", empty])).toBe(2);
  expect(printed.stderr).toMatch(/^nudge: unknown dataset "packs": did you mean "pacs"\?/);
  printed.stderr = "";
  expect(await main(["data", "inspect", await animals(), "--html", join(empty, "no/where.html")])).toBe(1);
  expect(printed.stderr).toMatch(
    /^nudge: --html .*: could not be written: there is no folder .*no\. Create it first\n$/,
  );
  expect(existsSync(join(empty, "no"))).toBe(false);
});
