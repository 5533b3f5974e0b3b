/**
 * FMoW in the layout of WILDS, as DomainBed uses it: satellite pictures of 62 kinds of places, with one domain per
 * region of the world. Regions are numbered in the order of their first appearance in the table. The file name of a
 * picture is the number of its row, counting skipped rows (`seq`).
 */
import { DataError } from "../../errors.js";
import { type TableRow, tableBenchmark } from "./table-benchmark.js";

/** The classes in the order of their numbers. */
const CATEGORIES = [
  ...["airport", "airport_hangar", "airport_terminal", "amusement_park", "aquaculture", "archaeological_site", "barn"],
  ...[
    "border_checkpoint",
    "burial_site",
    "car_dealership",
    "construction_site",
    "crop_field",
    "dam",
    "debris_or_rubble",
  ],
  ...["educational_institution", "electric_substation", "factory_or_powerplant", "fire_station", "flooded_road"],
  ...["fountain", "gas_station", "golf_course", "ground_transportation_station", "helipad", "hospital"],
  ...["impoverished_settlement", "interchange", "lake_or_pond", "lighthouse", "military_facility"],
  ...["multi-unit_residential", "nuclear_powerplant", "office_building", "oil_or_gas_facility", "park"],
  ...["parking_lot_or_garage", "place_of_worship", "police_station", "port", "prison", "race_track", "railway_bridge"],
  ...["recreational_facility", "road_bridge", "runway", "shipyard", "shopping_mall", "single-unit_residential"],
  ...["smokestack", "solar_farm", "space_facility", "stadium", "storage_tank", "surface_mine", "swimming_pool"],
  ...["toll_booth", "tower", "tunnel_opening", "waste_disposal", "water_treatment_facility", "wind_farm", "zoo"],
];

const REGIONS = 6;

export const fmow = tableBenchmark({
  id: "fmow",
  title: "FMoW-WILDS",
  summary: "satellite pictures of 62 kinds of places in six regions of the world",
  paper:
    "Christie, Fendley, Wilson and Mukherjee, Functional Map of the World, CVPR 2018, https://arxiv.org/abs/1711.07846; Koh et al., WILDS, ICML 2021, https://arxiv.org/abs/2012.07421",
  licence: "FMoW Challenge Public License, https://github.com/fMoW/dataset/blob/master/LICENSE",
  source: "WILDS, https://wilds.stanford.edu, version 1.1 of fmow",
  layout: "fmow_v1.1/rgb_metadata.csv, country_code_mapping.csv and images/",
  entries: ["rgb_metadata.csv", "country_code_mapping.csv", "images"],
  pictures: "images",
  published: {
    domains: Array.from({ length: REGIONS }, (_, i) => ({ name: `region_${i}`, label: `region_${i}` })),
    classes: CATEGORIES,
  },
  protocol: { steps: 5001, evaluateEvery: 100 },
  read(table) {
    const countries = table("country_code_mapping.csv", ["alpha-3", "region"]);
    const regionOf = new Map(
      Array.from({ length: countries.length }, (_, row) => [
        countries.value(row, "alpha-3"),
        countries.value(row, "region"),
      ]),
    );
    const { length, value } = table("rgb_metadata.csv", ["split", "category", "country_code"]);
    const labels = new Map(CATEGORIES.map((name, i) => [name, i]));
    const regions = new Map<string, number>();
    const rows: TableRow[] = [];
    for (let row = 0; row < length; row++) {
      const region = regionOf.get(value(row, "country_code")) || "Other";
      if (!regions.has(region)) regions.set(region, regions.size);
      const domain = regions.get(region)!;
      if (value(row, "split") === "seq") continue;
      const label = labels.get(value(row, "category"));
      if (label === undefined || domain >= REGIONS)
        throw new DataError(
          `dataset fmow, row ${row} of rgb_metadata.csv: expected one of ${CATEGORIES.length} categories and ${REGIONS} regions, got "${value(row, "category")}" and region "${region}"`,
        );
      rows.push({ domain, label, file: `images/rgb_img_${row}.png` });
    }
    const named = [...regions].map(([region, i]) => `region_${i} is ${region}`);
    return { rows, notes: [named.join(", ")] };
  },
});
