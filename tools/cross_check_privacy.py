"""Nearest records by scikit-learn, and what they give away."""

import numpy as np
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    pairwise_distances,
    roc_auc_score,
    roc_curve,
)
from sklearn.neighbors import NearestNeighbors


class Sets:
    """Records as rows of codes that are there or not."""

    def __init__(self, vocabulary, **samples):
        self.vocabulary = vocabulary
        for name, records in samples.items():
            matrix = np.zeros((len(records), len(vocabulary.codes)), dtype=bool)
            for row, record in enumerate(records):
                matrix[row, record.static + [code for visit in record.visits for code in visit]] = True
            setattr(self, name, matrix)


def to_nearest(queries, among):
    search = NearestNeighbors(n_neighbors=1, algorithm="brute", metric="jaccard").fit(among)
    return search.kneighbors(queries)[0][:, 0]


def closest(sets):
    """How near synthetic records come to train and to held-out ones; by index in our figures."""
    found, distances = {}, []
    for name, among in (("to_train", sets.train), ("to_held_out", sets.held_out)):
        nearest = to_nearest(sets.synthetic, among)
        found[f"{name}/median"] = np.median(nearest)
        found[f"{name}/fifth_percentile"] = np.percentile(nearest, 5)
        found[f"{name}/copies"] = (nearest == 0).sum()
        distances.append(nearest)
    train, held_out = distances
    found["closer_to_train"] = (train < held_out).mean() + (train == held_out).mean() / 2
    return found


def membership(sets):
    """Who was trained on, guessed by the distance to the nearest synthetic record."""
    members, others = (-to_nearest(real, sets.synthetic) for real in (sets.train, sets.held_out))
    truth = np.r_[np.ones(len(members)), np.zeros(len(others))]
    scores = np.r_[members, others]
    false, true, _ = roc_curve(truth, scores, drop_intermediate=False)
    # DeLong: the variance of the placements of either kind among the other.
    above = (members[:, None] > others[None]) + (members[:, None] == others[None]) / 2
    variance = above.mean(axis=1).var(ddof=1) / len(members) + above.mean(axis=0).var(ddof=1) / len(others)
    return {
        "auroc": roc_auc_score(truth, scores),
        "standard_error": np.sqrt(variance),
        "best_balanced_accuracy": ((true + 1 - false) / 2).max(),
    }


def attributes(sets, limit):
    """Sensitive codes of train records, read off from the nearest of others in all other codes."""
    counts = sets.train.sum(axis=0)
    fits = ~sets.vocabulary.static & (counts > 0) & (2 * counts <= len(sets.train))
    sensitive = [code for code in np.argsort(-counts, kind="stable") if fits[code]][:limit]
    known = np.ones(len(sets.vocabulary.codes), dtype=bool)
    known[sensitive] = False
    sources = min(len(sets.synthetic), len(sets.held_out))

    def figures(guessed, victims):
        truth_flat, guessed_flat = victims[:, sensitive].ravel(), guessed.ravel()
        counted = confusion_matrix(truth_flat, guessed_flat, labels=[False, True]).ravel().tolist()
        names = ("true_negatives", "false_positives", "false_negatives", "true_positives")
        return {
            "guesses": dict(zip(names, counted)),
            "f1": f1_score(truth_flat, guessed_flat),
            "balanced_accuracy": balanced_accuracy_score(truth_flat, guessed_flat),
        }

    def read_off(among, victims):
        among = among[:sources]
        distances = pairwise_distances(victims[:, known], among[:, known], metric="jaccard")
        nearest = distances == distances.min(axis=1, keepdims=True)
        votes = nearest.astype(int) @ among[:, sensitive].astype(int)
        return figures(2 * votes > nearest.sum(axis=1, keepdims=True), victims)

    common = 2 * sets.synthetic[:sources][:, sensitive].sum(axis=0) > sources
    found = {
        "from_synthetic": read_off(sets.synthetic, sets.train),
        "from_held_out": read_off(sets.held_out, sets.train),
        "of_held_out": read_off(sets.synthetic, sets.held_out),
        "majority": figures(np.broadcast_to(common, (len(sets.train), len(sensitive))), sets.train),
    }
    return sensitive, found
