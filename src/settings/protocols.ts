/**
 * The two protocols of published results: the length of runs, when they are evaluated and on what. DomainBed's
 * (Gulrajani and Lopez-Paz, 2021, https://arxiv.org/abs/2007.01434) depends on the dataset. SWAD's (Cha et al., 2021,
 * https://arxiv.org/abs/2102.08604), which MIRO's code and the code of the nuclear norm use too, evaluates more often,
 * does not augment validation pictures, does not evaluate the training pictures, and trains longer on DomainNet.
 *
 * Both start from ImageNet weights with frozen batch norm and hold out 0.2 of each domain. DomainBed searches (20 draws
 * of hyperparameters); SWAD's commands use the defaults.
 */

import type { Dataset } from "../data/dataset.js";
import { datasets } from "../data/datasets/index.js";
import type { ProtocolName } from "../declared-settings/keys.js";

/** What a protocol determines. Each value can be given explicitly instead. */
export interface Protocol {
  readonly steps: number;
  readonly evaluateEvery: number;
  readonly augmentValidation: boolean;
  readonly evaluateTraining: boolean;
}

/** Protocols by name, with a description. */
export const protocols: Readonly<Record<ProtocolName, string>> = {
  domainbed:
    "DomainBed protocol: 5001 steps, evaluated every 300 steps (DomainNet every 1000, small pictures every 100) on augmented validation pictures",
  swad: "SWAD protocol: 5001 steps (DomainNet 15001), evaluated every 200 steps (PACS, OfficeHome and TerraIncognita every 100, VLCS every 50, DomainNet every 500) on validation pictures without augmentation",
};

/** SWAD's values, where its published commands differ from the 5001 steps and 200 in its code. */
const SWAD: Readonly<Record<string, Partial<Protocol>>> = {
  pacs: { evaluateEvery: 100 },
  vlcs: { evaluateEvery: 50 },
  "office-home": { evaluateEvery: 100 },
  "terra-incognita": { evaluateEvery: 100 },
  "domain-net": { steps: 15001, evaluateEvery: 500 },
};

/** The protocol of a probe: its steps take milliseconds, and its samples are features, which are not augmented. */
export const probeProtocol: Protocol = {
  steps: 201,
  evaluateEvery: 25,
  augmentValidation: false,
  evaluateTraining: false,
};

/** For a probe that is solved exactly and not trained step by step. */
export const exactProtocol: Protocol = { ...probeProtocol, steps: 1, evaluateEvery: 1 };

/** The same as text. */
export const probeWords =
  "Probe protocol: 201 steps on features that are computed once, evaluated every 25 on validation pictures without augmentation";

/** The values of a protocol for a dataset. */
export function protocolFor({ id }: Pick<Dataset, "id">, name: ProtocolName): Protocol {
  if (name === "swad")
    return { steps: 5001, evaluateEvery: 200, augmentValidation: false, evaluateTraining: false, ...SWAD[id] };
  const { steps, evaluateEvery } = datasets[id]?.protocol ?? { steps: 5001, evaluateEvery: 300 };
  return { steps, evaluateEvery, augmentValidation: true, evaluateTraining: true };
}
