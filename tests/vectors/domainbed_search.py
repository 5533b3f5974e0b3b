"""Writes a searched sweep of invented numbers in DomainBed's format: 3 datasets, 4 algorithms, 20 draws, 3 trials. Its
collector's text is domainbed-search.txt:

    python3 tests/vectors/domainbed_search.py FOLDER
    python3 -m domainbed.scripts.collect_results --input_dir FOLDER   # DomainBed b93c22a; listdir sorted
    cp FOLDER/results.txt tests/vectors/domainbed-search.txt

tests/e2e/search-tables.test.ts plans the same sweep here and writes its runs by the same formula.
"""
import json
import os
import sys

DATASETS = ["VLCS", "PACS", "TerraIncognita"]
ALGORITHMS = ["ERM", "Mixup", "CORAL", "VREx"]
TRIALS, DRAWS, STEPS, DOMAINS = 3, 20, 3, 4


def accuracy(*places):
    """Of dataset, algorithm, held-out domain, trial, draw, step, domain and split, by their numbers."""
    k = 0
    for place, size in zip(places, (3, 4, DOMAINS, TRIALS, DRAWS, STEPS, DOMAINS, 2)):
        k = k * size + place
    return (k * k * 31 + k * 7919) % 1000003 / 1000002


def main(folder):
    for d, dataset in enumerate(DATASETS):
        for a, algorithm in enumerate(ALGORITHMS):
            for held_out in range(DOMAINS):
                for trial in range(TRIALS):
                    for draw in range(DRAWS):
                        path = os.path.join(folder, f"{dataset}-{algorithm}-{held_out}-{trial}-{draw:02}")
                        os.makedirs(path)
                        args = {
                            "algorithm": algorithm,
                            "dataset": dataset,
                            "test_envs": [held_out],
                            "trial_seed": trial,
                            "hparams_seed": draw,
                        }
                        with open(os.path.join(path, "results.jsonl"), "w") as file:
                            for step in range(STEPS):
                                line = {"step": 300 * step, "args": args, "hparams": {"batch_size": 32}}
                                for i in range(DOMAINS):
                                    at = (d, a, held_out, trial, draw, step, i)
                                    line[f"env{i}_in_acc"] = accuracy(*at, 0)
                                    line[f"env{i}_out_acc"] = accuracy(*at, 1)
                                file.write(json.dumps(line, sort_keys=True) + "\n")


main(sys.argv[1])
