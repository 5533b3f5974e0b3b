/**
 * The two protocols that published numbers come from: how long runs are, when they are evaluated and on what. DomainBed's
 * (Gulrajani and Lopez-Paz, 2021, https://arxiv.org/abs/2007.01434) is each dataset's own; SWAD's (Cha et al., 2021,
 * https://arxiv.org/abs/2102.08604), which MIRO's code and that of the nuclear norm go by, evaluates more often, leaves
 * validation pictures as they are, passes over the pictures that are trained on, and trains longer on DomainNet.
 *
 * Both start from ImageNet weights with frozen batch norm and hold back 0.2 of each domain. DomainBed searches (20 draws of
 * hyperparameters); SWAD's commands take the defaults.
 */

import type { Dataset } from "../data/dataset.js";
import { datasets } from "../data/datasets/index.js";

export type ProtocolName = "domainbed" | "swad";

/** What a protocol settles; each may be given otherwise. */
export interface Protocol {
  readonly steps: number;
  readonly evaluateEvery: number;
  readonly augmentValidation: boolean;
  readonly evaluateTraining: boolean;
}

/** Protocols by name, in words. */
export const protocols: Readonly<Record<ProtocolName, string>> = {
  domainbed:
    "DomainBed's: 5001 steps, evaluated every 300 (DomainNet 1000, small pictures 100) on augmented validation pictures",
  swad: "SWAD's: 5001 steps (DomainNet 15001), evaluated every 100 (VLCS 50, DomainNet 500, others 200) on validation pictures as they are",
};

/** SWAD's, where its published commands differ from the 5001 steps and 200 of its code. */
const SWAD: Readonly<Record<string, Partial<Protocol>>> = {
  pacs: { evaluateEvery: 100 },
  vlcs: { evaluateEvery: 50 },
  "office-home": { evaluateEvery: 100 },
  "terra-incognita": { evaluateEvery: 100 },
  "domain-net": { steps: 15001, evaluateEvery: 500 },
};

/** A probe's own: its steps take milliseconds, and its samples are features, which nothing augments. */
export const probeProtocol: Protocol = {
  steps: 201,
  evaluateEvery: 25,
  augmentValidation: false,
  evaluateTraining: false,
};

/** Of a probe that is solved and not trained step by step. */
export const exactProtocol: Protocol = { ...probeProtocol, steps: 1, evaluateEvery: 1 };

/** The same in words. */
export const probeWords =
  "A probe's: 201 steps on features that are computed once, evaluated every 25 on validation pictures as they are";

/** What a protocol has for a dataset. */
export function protocolFor({ id }: Pick<Dataset, "id">, name: ProtocolName): Protocol {
  if (name === "swad")
    return { steps: 5001, evaluateEvery: 200, augmentValidation: false, evaluateTraining: false, ...SWAD[id] };
  const { steps, evaluateEvery } = datasets[id]?.protocol ?? { steps: 5001, evaluateEvery: 300 };
  return { steps, evaluateEvery, augmentValidation: true, evaluateTraining: true };
}
