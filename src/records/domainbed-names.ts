/**
 * DomainBed's names: its datasets with the headings of their domains, and its algorithms, both in the order of its
 * tables (revision b93c22a). The first name of a pair is this project's, where it has the dataset.
 */

export interface ReferenceDataset {
  readonly name: string;
  /** This project's id of it. */
  readonly id?: string;
  /** Headings in tables, in the order that counts domains. */
  readonly labels: readonly string[];
  /** This project's names of the domains. */
  readonly domains?: readonly string[];
}

const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const spawrious = (name: string): ReferenceDataset => {
  const id = name.replace("Spawrious", "spawrious-").replace("_", "-").toLowerCase();
  return { name, id, labels: SPAWRIOUS, domains: SPAWRIOUS };
};
const SPAWRIOUS = ["Test", "SC_group_1", "SC_group_2"];
const CARS = ["aclass", "escape", "hilux", "i3", "lexus", "tesla", "tiguan", "tucson", "x5", "zoe"];

export const referenceDatasets: readonly ReferenceDataset[] = [
  { name: "Debug28", labels: ["0", "1", "2"] },
  { name: "Debug224", labels: ["0", "1", "2"] },
  { name: "ColoredMNIST", id: "colored-mnist", labels: ["+90%", "+80%", "-90%"], domains: ["+90%", "+80%", "-90%"] },
  {
    name: "RotatedMNIST",
    id: "rotated-mnist",
    labels: ["0", "15", "30", "45", "60", "75"],
    domains: ["0", "15", "30", "45", "60", "75"],
  },
  { name: "VLCS", id: "vlcs", labels: ["C", "L", "S", "V"], domains: ["Caltech101", "LabelMe", "SUN09", "VOC2007"] },
  { name: "PACS", id: "pacs", labels: ["A", "C", "P", "S"], domains: ["art_painting", "cartoon", "photo", "sketch"] },
  {
    name: "OfficeHome",
    id: "office-home",
    labels: ["A", "C", "P", "R"],
    domains: ["Art", "Clipart", "Product", "Real World"],
  },
  {
    name: "TerraIncognita",
    id: "terra-incognita",
    labels: ["L100", "L38", "L43", "L46"],
    domains: ["location_100", "location_38", "location_43", "location_46"],
  },
  {
    name: "DomainNet",
    id: "domain-net",
    labels: ["clip", "info", "paint", "quick", "real", "sketch"],
    domains: ["clipart", "infograph", "painting", "quickdraw", "real", "sketch"],
  },
  { name: "SVIRO", id: "sviro", labels: CARS, domains: CARS },
  { name: "WILDSCamelyon", id: "camelyon17", labels: numbered("hospital_", 5), domains: numbered("hospital_", 5) },
  { name: "WILDSFMoW", id: "fmow", labels: numbered("region_", 6), domains: numbered("region_", 6) },
  spawrious("SpawriousO2O_easy"),
  spawrious("SpawriousO2O_medium"),
  spawrious("SpawriousO2O_hard"),
  spawrious("SpawriousM2M_easy"),
  spawrious("SpawriousM2M_medium"),
  spawrious("SpawriousM2M_hard"),
];

/** Its algorithms in the order of its tables; others follow in the order they appear. */
export const referenceAlgorithms: readonly string[] = [
  "ERM",
  "ERMPlusPlus",
  "Fish",
  "IRM",
  "GroupDRO",
  "Mixup",
  "MLDG",
  "CORAL",
  "MMD",
  "DANN",
  "CDANN",
  "MTL",
  "SagNet",
  "ARM",
  "VREx",
  "RSC",
  "SD",
  "ANDMask",
  "SANDMask",
  "IGA",
  "SelfReg",
  "Fishr",
  "TRM",
  "IB_ERM",
  "IB_IRM",
  "CAD",
  "CondCAD",
  "Transfer",
  "CausIRL_CORAL",
  "CausIRL_MMD",
  "EQRM",
  "RDM",
  "ADRMX",
  "URM",
];

/** DomainBed's facts on a dataset, by its name there or its id here. */
export function referenceDataset(name: string): ReferenceDataset | undefined {
  return referenceDatasets.find((each) => each.name === name || each.id === name);
}

/**
 * This project's names of a DomainBed run's dataset and its domains; those it does not have keep theirs, `env0` and so
 * on.
 */
export function localNames(dataset: string, count: number): { dataset: string; domains: string[] } {
  const known = referenceDataset(dataset);
  const names = known?.domains ?? known?.labels ?? [];
  return {
    dataset: known?.id ?? dataset,
    domains: Array.from({ length: count }, (_, i) => names[i] ?? `env${i}`),
  };
}
