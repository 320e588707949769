"""Rules judged visit by visit, from implications between codes."""


def holds(literal, visits, now):
    """Whether a literal is true at a visit; a window that selects no visit holds no code."""
    window = literal["window"]
    if window is None:
        selected = [now]
    elif window["past"]:
        selected = range(now)
    else:
        selected = {*window["visits"], *(now - distance for distance in window["distances"])}
        selected = [visit for visit in selected if 0 <= visit < now]
    return any(literal["code"] in visits[visit] for visit in selected) == literal["present"]


def literals(rule):
    if "implications" in rule:
        for implication in rule["implications"]:
            yield from implication["conditions"]
            if implication["output"]:
                yield implication["output"]
    else:
        yield rule["output"]
        for clause in rule["condition"]:
            yield from clause


def spoken_of(rule, count):
    """The visits that a rule is required of."""
    return [now for now in range(count) if rule["static_visit" if now == 0 else "encounters"]]


def broken(rule, visits, now):
    def violated(implication):
        output = implication["output"]
        obeyed = output is not None and holds(output, visits, now)
        return not obeyed and all(holds(part, visits, now) for part in implication["conditions"])

    return any(violated(implication) for implication in rule["implications"])


def violations(rules, records, vocabulary):
    """All that the program says of rules, for some records."""
    cohort = []
    for record in records:
        visits = [set(vocabulary.names(visit)) for visit in [record.static, *record.visits]]
        if record.ended:
            visits[-1].add("END")
        cohort.append(visits)
    hard, soft, broken_by = [], [], {False: set(), True: set()}
    for rule in rules:
        temporal = any(literal["window"] is not None for literal in literals(rule))
        if "implications" in rule:
            found = [
                (number, now)
                for number, visits in enumerate(cohort)
                for now in spoken_of(rule, len(visits))
                if broken(rule, visits, now)
            ]
            by = {number for number, _ in found}
            broken_by[temporal] |= by
            hard.append(
                {"rule": rule["rule"], "temporal": temporal, "violations": len(found), "records": len(by)}
            )
        else:
            fired = [
                holds(rule["output"], visits, now)
                for visits in cohort
                for now in spoken_of(rule, len(visits))
                if all(any(holds(part, visits, now) for part in clause) for clause in rule["condition"])
            ]
            share = sum(fired) / len(fired) if fired else None
            entry = {"rule": rule["rule"], "temporal": temporal, "probability": rule["probability"]}
            soft.append({**entry, "visits": len(fired), "held": sum(fired), "share": share})

    def summary(kinds):
        of_kind = [rule for rule in hard if rule["temporal"] in kinds]
        valid = len(cohort) - len(set().union(*(broken_by[kind] for kind in kinds)))
        return {
            "rules": len(of_kind),
            "violations": sum(rule["violations"] for rule in of_kind),
            "valid_records": valid,
            "valid_percent": 100 * valid / len(cohort),
        }

    return {
        "visits": sum(map(len, cohort)),
        "all": summary([False, True]),
        "within_visit_rules": summary([False]),
        "temporal_rules": summary([True]),
        "hard": hard,
        "soft": soft,
    }
