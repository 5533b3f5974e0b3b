import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, writeFile } from "../../../tests/support/picture-folder.js";
import { openDataset } from "../open-dataset.js";
import { verifyDataset } from "../verify.js";
import { camelyon17 } from "./camelyon17.js";
import { fmow } from "./fmow.js";

/** A small copy of Camelyon17 in WILDS' layout: two patches a hospital, one with tumour tissue. */
function smallCamelyon(): string {
  const root = temporaryFolder();
  const lines = [",patient,node,x_coord,y_coord,tumor,slide,center,split"];
  for (let i = 0; i < 10; i++) {
    const [patient, node] = [`00${i}`, i % 3];
    lines.push(`${i},${patient},${node},${i}08,4${i},${i % 2},${i},${Math.floor(i / 2)},0`);
    const slide = `patient_${patient}_node_${node}`;
    if (i !== 9) writeFile(root, `camelyon17_v1.0/patches/${slide}/patch_${slide}_x_${i}08_y_4${i}.png`);
  }
  writeFile(root, "camelyon17_v1.0/metadata.csv", `${lines.join("\n")}\n`);
  return root;
}

test("Camelyon17 has a domain for each hospital; a missing patch is skipped and reported", async () => {
  const root = smallCamelyon();
  for (const opened of [await openDataset("camelyon17", { root }), await openDataset(root)]) {
    expect(opened).toMatchObject({
      id: "camelyon17",
      classes: ["normal", "tumor"],
      root: join(root, "camelyon17_v1.0"),
    });
    expect(opened.domains.map(({ name, count }) => [name, count])).toEqual([
      ["hospital_0", 2],
      ["hospital_1", 2],
      ["hospital_2", 2],
      ["hospital_3", 2],
      ["hospital_4", 1],
    ]);
    expect(opened.domains[1].files).toEqual([
      "patches/patient_002_node_2/patch_patient_002_node_2_x_208_y_42.png",
      "patches/patient_003_node_0/patch_patient_003_node_0_x_308_y_43.png",
    ]);
    expect([...opened.domains[1].labels]).toEqual([0, 1]);
    expect(opened.notes[0]).toMatch(/^1 row of the table skipped, whose pictures are not there/);
  }
  const { agrees, publishedTotal } = await verifyDataset(camelyon17, root);
  expect({ agrees, publishedTotal }).toEqual({ agrees: false, publishedTotal: 455_954 });
});

test("FMoW has a domain for each region in the order of the table; file numbers count all rows, also skipped ones", async () => {
  const root = temporaryFolder();
  const folder = "fmow_v1.1";
  writeFile(
    root,
    `${folder}/country_code_mapping.csv`,
    "alpha-3,region\nJPN,Asia\nFRA,Europe\nKEN,Africa\nUSA,Americas\nFJI,Oceania\n",
  );
  const countries = ["JPN", "FRA", "KEN", "USA", "FJI", "XKX", "JPN", "FRA"];
  const lines = countries.map(
    (code, i) => `${i === 1 ? "seq" : "train"},${i % 2 ? "zoo" : "airport"},${code},2015-01-01T00:00:00Z`,
  );
  writeFile(root, `${folder}/rgb_metadata.csv`, `split,category,country_code,timestamp\n${lines.join("\n")}\n`);
  for (const i of [0, 2, 3, 4, 5, 6, 7]) writeFile(root, `${folder}/images/rgb_img_${i}.png`);
  const opened = await openDataset(root);
  expect(opened.id).toBe("fmow");
  expect(opened.classes).toHaveLength(62);
  expect(opened.domains.map(({ name, files }) => [name, files!.join(" ")])).toEqual([
    ["region_0", "images/rgb_img_0.png images/rgb_img_6.png"],
    ["region_1", "images/rgb_img_7.png"],
    ["region_2", "images/rgb_img_2.png"],
    ["region_3", "images/rgb_img_3.png"],
    ["region_4", "images/rgb_img_4.png"],
    ["region_5", "images/rgb_img_5.png"],
  ]);
  expect([...opened.domains[1].labels]).toEqual([61]);
  expect(opened.notes[0]).toContain("region_0 is Asia, region_1 is Europe");
  const verification = await verifyDataset(fmow, root);
  expect(verification).toMatchObject({ agrees: true, publishedTotal: null });
});

test("a table without its columns, or with values that make no sense, is refused", async () => {
  const root = temporaryFolder();
  writeFile(root, "metadata.csv", "patient,node\n1,2\n");
  writeFile(root, "patches/x/y.png");
  await expect(openDataset("camelyon17", { root })).rejects.toThrow(
    /expected columns .*"x_coord", "y_coord", "tumor", "center" missing/,
  );
  writeFile(root, "metadata.csv", "patient,node,x_coord,y_coord,tumor,center\n1,2,3,4,maybe,0\n");
  await expect(openDataset("camelyon17", { root })).rejects.toThrow(
    "row 0 of metadata.csv: expected a tumor of 0 or 1",
  );
});
