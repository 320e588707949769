"""The next encounter predicted by scikit-learn."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score


#: What keys of ids are for by which records are taken.
PURPOSE = 0x7574696C


def key(text):
    """FNV-1a of an id, mixed with what it is for by the finish of SplitMix64."""
    bits = (1 << 64) - 1
    number = 0xCBF29CE484222325
    for byte in text.encode():
        number = (number ^ byte) * 0x100000001B3 & bits
    number = ((number ^ PURPOSE * 0xD6E8FEB86659FD93 & bits) + 0x9E3779B97F4A7C15) & bits
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & bits
    number = (number ^ number >> 27) * 0x94D049BB133111EB & bits
    return number ^ number >> 31


def transitions(records, vocabulary, limit):
    """Features and next encounters: codes now and static ones, then codes of earlier encounters."""
    size = len(vocabulary.codes)
    features, current, following = [], [], []
    for record in sorted(records, key=lambda record: key(record.id)):
        earlier = set()
        for visit, after in zip(record.visits, record.visits[1:]):
            row = np.zeros(2 * size)
            row[record.static + visit] = 1
            row[[size + code for code in earlier]] = 1
            features.append(row)
            current.append(visit)
            following.append(after)
            earlier.update(visit)
    return np.array(features[:limit]), current[:limit], following[:limit]


def labels(following, code):
    return np.array([code in visit for visit in following])


def trained(features, target, tried, truth):
    # A feature that never occurs keeps the weight 0: it is left out to keep the matrix small.
    seen = features.any(axis=0)
    model = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-12, max_iter=1000)
    model.fit(features[:, seen], target)
    scores = model.decision_function(tried[:, seen])
    # Rows with the same features have the same score, whatever the order of the products.
    _, same = np.unique(tried[:, seen], axis=0, return_inverse=True)
    scores = np.array([scores[same == group].mean() for group in range(same.max() + 1)])[same]
    return {
        "positives": target.sum(),
        "intercept": model.intercept_[0],
        "norm": np.linalg.norm(model.coef_),
        "auroc": roc_auc_score(truth, scores),
        "average_precision": average_precision_score(truth, scores),
    }


def utility(train, synthetic, held_out, vocabulary, codes, limit):
    """All that the program says of utility."""
    sides = {"real": train, "synthetic": synthetic}
    sides = {name: transitions(records, vocabulary, limit) for name, records in sides.items()}
    counts = np.bincount(np.concatenate(sides["real"][1]).astype(int), minlength=len(vocabulary.codes))
    count = min(len(features) for features, _, _ in sides.values())
    sides = {name: [part[:count] for part in parts] for name, parts in sides.items()}
    tried, _, after = transitions(held_out, vocabulary, limit)
    frequent = [code for code in np.argsort(-counts, kind="stable") if counts[code] > 0][:codes]
    found = {"trained_on": count, "tried_on": len(tried), "codes": [], "left_out": []}
    found.update({name: [] for name in sides})
    for code in frequent:
        truth = labels(after, code)
        targets = {name: labels(following, code) for name, (_, _, following) in sides.items()}
        if any(target.all() or not target.any() for target in [truth, targets["real"]]):
            found["left_out"].append(code)
            continue
        found["codes"].append(code)
        for name, (features, _, _) in sides.items():
            target = targets[name]
            if target.all() or not target.any():
                probability = {"positives": 0, "intercept": 0.0, "norm": 0.0, "auroc": 0.5}
                found[name].append({**probability, "average_precision": truth.mean()})
            else:
                found[name].append(trained(features, target, tried, truth))
    return found
