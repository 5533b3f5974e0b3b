/** The blocks of the paper's setting on PACS, in the order in which they are run. Methods of one group share their runs. */

/** @typedef {{ trials: number[], methods: string[] }} Block */

/** @type {Record<string, Block>} */
export const BLOCKS = {
  erm: { trials: [0, 1, 2], methods: ["ERM,SWAD,ERM-NU,SWAD-NU"] },
  mixup: { trials: [0, 1, 2], methods: ["Mixup,Mixup-NU"] },
  /** The other methods of Table 1, in its order, by SWAD's protocol with default hyperparameters. */
  table1: {
    trials: [0],
    methods:
      "MMD MixStyle GroupDRO IRM ARM VREx CDANN AND-mask DANN RSC MTL MLDG Fish Fishr SagNet SelfReg CORAL SAM mDSDI MIRO".split(
        " ",
      ),
  },
};
